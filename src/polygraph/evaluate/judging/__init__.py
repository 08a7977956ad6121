"""Language models as judges: protocols, orders, lengths, agreement, and simulated judges that test them."""
