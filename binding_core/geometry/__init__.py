"""What the embeddings of scenes are made of, and how they lie."""
