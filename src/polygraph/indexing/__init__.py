"""From documents to finished layers: building, maintenance, estimates, exchange with other programs."""
