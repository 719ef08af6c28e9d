"""The settings of a run in words: what each is called, what it means, and how its choices read."""

LABELS = {
    "data.coverage": ("Coverage", "The share of all objects that training meets."),
    "data.types": ("Concept types", "Such as colour, shape and size: C."),
    "data.values": ("Values of each", "How many colours, how many shapes: V."),
    "data.objects": ("Objects a scene", "M."),
    "data.colours": ("Colours", "The first ones of the composer's twelve."),
    "data.shapes": ("Shapes", "The first ones of the composer's twelve."),
    "data.captions": (
        "Captions",
        "Full: the caption in either order, one an object, one a concept. Web: what people write "
        "beside pictures, which leaves out most of it.",
    ),
    "data.captions_per_picture": ("Web captions a picture", ""),
    "data.incomplete": (
        "Objects that lose a concept",
        "The share of objects whose caption leaves out a concept, as in “a square and something "
        "red”.",
    ),
    "data.loses": ("They lose", "Which concept is left out."),
    "data.single": ("Captions that name one object", "The share of captions."),
    "data.swap_negatives": (
        "Swapped captions among the false ones",
        "The caption of the swapped scene is shown as a false one, where it is made of training "
        "objects.",
    ),
    "data.by_place": (
        "Word order tied to place",
        "A leak, for showing: captions name objects in the order of their places, so that place "
        "alone tells a scene from its swap.",
    ),
    "data.density": (
        "Objects with all their attributes",
        "The share; the others are their last concept type alone, as a shape without a colour.",
    ),
    "data.max_candidates": (
        "Objects a step contrasts with",
        "Of more training objects than that, each step takes a fresh sample.",
    ),
    "data.pixels": ("Pixels a side", "Of the pictures that the network sees."),
    "data.split_seed": ("Seed of the split", "Which objects are held out."),
    "network.scene_reads": (
        "The scene side reads",
        "A picture's patch shows a whole object at once; a caption names its words one by one.",
    ),
    "network.sharing": (
        "Encoders",
        "Encoders that share their weights can't disagree; two encoders have to learn to agree. "
        "Those that begin as one are copied after some steps and then go their own ways.",
    ),
    "network.part_after": ("They part after (steps)", "Only where they begin as one."),
    "network.mlp": ("MLP", "What a block does with each token by itself."),
    "network.depth": ("Blocks", "Of each encoder."),
    "network.width": ("Width", "Dimensions within an encoder."),
    "network.heads": ("Heads", "Of attention; they divide the width."),
    "network.output": ("Dimensions of an embedding", ""),
    "training.steps": ("Steps", ""),
    "training.batch": ("Scenes a step", ""),
    "training.seed": ("Seed", "Of the weights and of the scenes."),
    "training.optimizer": (
        "Optimizer",
        "Muon moves the matrices inside the blocks by orthogonal steps, AdamW the rest.",
    ),
    "training.learning_rate": ("Learning rate of AdamW", "Its peak."),
    "training.muon_learning_rate": ("Learning rate of Muon", "Its peak."),
    "training.weight_decay": ("Weight decay", "Of matrices."),
    "training.warmup_steps": ("Steps of rising learning rate", ""),
    "training.hold": ("Share at the peak", "The share of steps before the learning rate falls."),
    "training.clip_norm": ("Largest gradient", "Longer ones are cut to this norm."),
    "training.checkpoint_every": ("Steps between checkpoints", ""),
    "training.report_every": ("Steps between points of the loss", ""),
    "training.measure_every": (
        "Steps between measures",
        "A multiple of the steps between points of the loss.",
    ),
    "loss.object_weight": ("Weight of objects", "Queries that name one object."),
    "loss.concept_weight": ("Weight of concepts", "Queries that name one concept."),
    "loss.caption_weight": ("Weight of captions", "Captions of whole scenes."),
    "loss.both_ways": (
        "Both ways",
        "Scenes find their queries, and queries their scenes; otherwise scenes find queries only.",
    ),
    "loss.margin": ("Margin", "Cosine by which complete queries must win."),
    "loss.max_scale": ("Largest inverse temperature", ""),
}

CHOICES = {
    "network.scene_reads": {"objects": "one token an object", "words": "one token a word"},
    "network.sharing": {
        "apart": "two, apart",
        "shared": "one for both sides",
        "part": "begin as one, then part",
    },
    "network.mlp": {"gated": "gated (a product)", "gelu": "GELU"},
    "training.optimizer": {"muon": "Muon and AdamW", "adamw": "AdamW alone"},
    "data.captions": {"full": "full", "web": "web"},
    "data.loses": {"either": "either concept", "colour": "the colour", "shape": "the shape"},
}

MEASURES = {
    "object_recognition": "object recognition",
    "swap_accuracy": "swap accuracy",
    "concept_recognition": "concept recognition",
    "swap_accuracy_by_place": "swap accuracy, words in the order of places",
}


def label(setting: str) -> str:
    """What a setting such as ``data.coverage`` is called."""
    return LABELS[setting][0]
