"""A language model with random weights as a GGUF file of half a megabyte."""
import array
import random
import struct

U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9
FORMATS = {U32: "<I", I32: "<i", F32: "<f"}
ALIGNMENT = 32

WIDTH, LAYERS, HEADS, INNER, CONTEXT = 64, 2, 4, 128, 65536


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def scalar(kind, value):
    return text(value) if kind == STRING else struct.pack(FORMATS[kind], value)


def pair(key, kind, value):
    if not isinstance(value, list):
        return text(key) + struct.pack("<I", kind) + scalar(kind, value)
    return (text(key) + struct.pack("<IIQ", ARRAY, kind, len(value)) +
            b"".join(scalar(kind, each) for each in value))


def metadata():
    """Returns tokens and metadata. Tokens are letters, so generated text is plain."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = ["<unk>", "<s>", "</s>"] + [space + letter for space in ("", "\u2581")
                                         for letter in letters]
    kinds = [2, 3, 3] + [1] * (len(tokens) - 3)  # unknown, control, control, normal
    return tokens, [
        ("general.architecture", STRING, "llama"),
        ("llama.context_length", U32, CONTEXT),
        ("llama.embedding_length", U32, WIDTH),
        ("llama.block_count", U32, LAYERS),
        ("llama.feed_forward_length", U32, INNER),
        ("llama.attention.head_count", U32, HEADS),
        ("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        ("tokenizer.ggml.model", STRING, "llama"),
        ("tokenizer.ggml.tokens", STRING, tokens),
        ("tokenizer.ggml.scores", F32, [0.0] * len(tokens)),
        ("tokenizer.ggml.token_type", I32, kinds),
        ("tokenizer.ggml.bos_token_id", U32, 1),
        ("tokenizer.ggml.eos_token_id", U32, 2),
    ]


def shapes(tokens):
    yield "token_embd", (WIDTH, tokens)
    yield "output_norm", (WIDTH,)
    yield "output", (WIDTH, tokens)
    for layer in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{norm}", (WIDTH,)
        for square in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"blk.{layer}.{square}", (WIDTH, WIDTH)
        for wide in ("ffn_gate", "ffn_up"):
            yield f"blk.{layer}.{wide}", (WIDTH, INNER)
        yield f"blk.{layer}.ffn_down", (INNER, WIDTH)


def padded(data):
    return data + bytes(-len(data) % ALIGNMENT)


def write(path):
    tokens, pairs = metadata()
    dice = random.Random(1)
    header, weights, count = b"", b"", 0
    for name, shape in shapes(len(tokens)):
        size = shape[0] * (shape[1] if len(shape) == 2 else 1)
        is_norm = len(shape) == 1
        numbers = [1.0] * size if is_norm else [dice.gauss(0, 0.3) for _ in range(size)]
        header += text(name + ".weight") + struct.pack("<I", len(shape))
        header += b"".join(struct.pack("<Q", each) for each in shape)
        header += struct.pack("<IQ", 0, len(weights))  # 32-bit floats, where they begin
        weights += padded(array.array("f", numbers).tobytes())
        count += 1
    start = b"GGUF" + struct.pack("<IQQ", 3, count, len(pairs))
    start += b"".join(pair(*each) for each in pairs) + header
    with open(path, "wb") as file:
        file.write(padded(start) + weights)
