"""Do a model's pictures and captions agree, and can one linear map make them?"""
