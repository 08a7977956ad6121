"""Studies and retrieval runs: resumable folders of questions, answers and judgements."""
