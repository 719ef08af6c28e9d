"""Do picture and caption agree on which concept belongs to which object?"""
