"""Training from scratch: data drawn on the fly, a model, a loss, and one trainer for all."""
