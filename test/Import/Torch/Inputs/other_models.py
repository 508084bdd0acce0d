"""Models of torchvision and transformers that nothing else in the tree names.

    other_models.py MODEL...        (all for every model)

Three steps of SGD on one batch in f32: the loss and the gradient norm of the first and the
third, by MPT, beside PyTorch in f32 and f64. Of the first step the loss must be within 1e-4
and the norm within 1e-3 of PyTorch's, in f32 or f64. The third step is held to the same where
PyTorch's two agree as well, since what differs by rounding may grow from step to step.
"""
import copy
import functools
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional as F

import mpt.torch

warnings.filterwarnings("ignore")
RATE = 1e-3
SMALL = dict(vocab_size=120, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
             intermediate_size=64, max_position_embeddings=40)
ENCODER = dict(SMALL, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
DECODER = dict(SMALL, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)
BOTH = dict(vocab_size=120, d_model=32, encoder_layers=2, decoder_layers=2,
            encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
            decoder_ffn_dim=64, max_position_embeddings=40)
IMAGES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
              image_size=32, patch_size=8, hidden_dropout_prob=0.0,
              attention_probs_dropout_prob=0.0)


def without_dropout(model):
    for module in model.modules():
        if "Dropout" in type(module).__name__ and hasattr(module, "p"):
            module.p = 0.0
        if type(module).__name__.endswith(("StochasticDepth", "DropPath")):
            module.p = module.drop_prob = 0.0
        for name in ("dropout", "attention_dropout", "activation_dropout", "layerdrop"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model


def tokens(batch=2, length=16):
    return torch.randint(3, 100, (batch, length))


# torchvision's.

def vision(name, size=64, batch=8, **options):
    import torchvision
    model = without_dropout(getattr(torchvision.models, name)(num_classes=10, **options))
    return (model, lambda model, x, y: F.cross_entropy(model(x), y),
            (torch.randn(batch, 3, size, size), torch.randint(0, 10, (batch,))))


def video(name):
    import torchvision
    model = getattr(torchvision.models.video, name)(num_classes=10)
    return (model, lambda model, x, y: F.cross_entropy(model(x), y),
            (torch.randn(4, 3, 4, 32, 32), torch.randint(0, 10, (4,))))


def segmentation(name, size=64, batch=4, **options):
    import torchvision
    model = without_dropout(getattr(torchvision.models.segmentation, name)(
        weights=None, weights_backbone=None, num_classes=5, **options))

    def loss(model, x, y):
        return sum(weight * F.cross_entropy(out, y, ignore_index=255)
                   for weight, out in zip((1, 0.4), model(x).values()))
    return (model, loss, (torch.randn(batch, 3, size, size),
                          torch.randint(0, 5, (batch, size, size))))


def detector(name):
    """With images of one size, as many boxes for each, and one map of features."""
    import torchvision
    from torchvision.models import detection
    features = torchvision.models.squeezenet1_1().features
    features.out_channels = 512
    sizes = ((16,),) if name == "FCOS" else ((16, 32),)
    model = getattr(detection, name)(
        features, 5, min_size=64, max_size=64,
        anchor_generator=detection.anchor_utils.AnchorGenerator(sizes, ((1.0,),)))
    low = torch.rand(2, 3, 2) * 32

    def loss(model, x, boxes, labels):
        targets = [dict(boxes=b, labels=l) for b, l in zip(boxes, labels)]
        return sum(model(list(x), targets).values())
    return (without_dropout(model), loss,
            (torch.rand(2, 3, 64, 64), torch.cat([low, low + 8 + torch.rand(2, 3, 2) * 20], -1),
             torch.randint(1, 5, (2, 3))))


def maxvit():
    from torchvision.models.maxvit import MaxVit
    model = MaxVit(input_size=(64, 64), stem_channels=16, partition_size=2,
                   block_channels=[16, 32], block_layers=[1, 2], head_dim=8,
                   stochastic_depth_prob=0.0, num_classes=10)
    return (model, lambda model, x, y: F.cross_entropy(model(x), y),
            (torch.randn(4, 3, 64, 64), torch.randint(0, 10, (4,))))


def swin3d():
    from torchvision.models.video import SwinTransformer3d
    model = SwinTransformer3d(patch_size=[2, 4, 4], embed_dim=24, depths=[2, 2],
                              num_heads=[2, 4], window_size=[4, 3, 3], num_classes=10,
                              stochastic_depth_prob=0.0)
    return (model, lambda model, x, y: F.cross_entropy(model(x), y),
            (torch.randn(2, 3, 8, 32, 32), torch.randint(0, 10, (2,))))


# Those of transformers, by the names of their classes.

def create(model, config, **options):
    import transformers
    return without_dropout(getattr(transformers, model)(
        getattr(transformers, config + "Config")(**options)))


def mask():
    result = torch.ones(2, 16, dtype=torch.long)
    result[0, 12:] = 0
    return result


def language(name, config=None, padded=True, **options):
    model = create(name + "ForCausalLM", config or name, **options)
    model.config.use_cache = False
    if not padded:
        return model, lambda model, x: model(input_ids=x, labels=x).loss, (tokens(),)
    return (model, lambda model, x, mask: model(input_ids=x, attention_mask=mask, labels=x).loss,
            (tokens(), mask()))


def classifier(name, **options):
    model = create(name + "ForSequenceClassification", name, **options)
    return (model, lambda model, x, mask, y: model(input_ids=x, attention_mask=mask,
                                                   labels=y).loss,
            (tokens(), mask(), torch.randint(0, 2, (2,))))


def translation(name, **options):
    model = create(name + "ForConditionalGeneration", name, **options)
    model.config.use_cache = False
    return (model, lambda model, x, y: model(input_ids=x, labels=y).loss,
            (tokens(), tokens(length=9)))


def images(name, size=32, **options):
    model = create(name + "ForImageClassification", name, num_labels=2, **options)
    return (model, lambda model, x, y: model(pixel_values=x, labels=y).loss,
            (torch.randn(2, 3, size, size), torch.randint(0, 2, (2,))))


def whisper():
    model = create("WhisperForConditionalGeneration", "Whisper",
                   **{k: v for k, v in BOTH.items() if k != "max_position_embeddings"},
                   num_mel_bins=16, max_source_positions=20, max_target_positions=20,
                   pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
                   use_cache=False)
    return (model, lambda model, x, y: model(input_features=x, labels=y).loss,
            (torch.randn(2, 16, 40), tokens(length=9)))


def wav2vec2():
    model = create("Wav2Vec2ForSequenceClassification", "Wav2Vec2", vocab_size=32, hidden_size=32,
                   num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                   conv_dim=(16, 16, 16), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3),
                   num_feat_extract_layers=3, num_conv_pos_embeddings=16,
                   num_conv_pos_embedding_groups=4, classifier_proj_size=16, layerdrop=0.0,
                   apply_spec_augment=False)
    return (model, lambda model, x, y: model(input_values=x, labels=y).loss,
            (torch.randn(2, 800), torch.randint(0, 2, (2,))))


def vit_mae():
    model = create("ViTMAEForPreTraining", "ViTMAE", **IMAGES, decoder_num_attention_heads=4,
                   decoder_hidden_size=16, decoder_num_hidden_layers=2,
                   decoder_intermediate_size=32)
    return (model, lambda model, x, noise: model(pixel_values=x, noise=noise).loss,
            (torch.randn(2, 3, 32, 32), torch.rand(2, 16)))


def clip():
    text = dict(SMALL, eos_token_id=2, bos_token_id=0)
    picture = {k: v for k, v in IMAGES.items() if "prob" not in k}
    model = create("CLIPModel", "CLIP", text_config=text, vision_config=picture,
                   projection_dim=24)
    return (model, lambda model, x, images: model(input_ids=x, pixel_values=images,
                                                  return_loss=True).loss,
            (tokens(4), torch.randn(4, 3, 32, 32)))


def segformer():
    model = create("SegformerForSemanticSegmentation", "Segformer", num_encoder_blocks=2,
                   depths=[1, 1], sr_ratios=[4, 2], hidden_sizes=[16, 32], patch_sizes=[7, 3],
                   strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2],
                   decoder_hidden_size=32, num_labels=5, hidden_dropout_prob=0.0,
                   attention_probs_dropout_prob=0.0)
    return (model, lambda model, x, y: model(pixel_values=x, labels=y).loss,
            (torch.randn(2, 3, 32, 32), torch.randint(0, 5, (2, 32, 32))))


def patchtst():
    model = create("PatchTSTForPrediction", "PatchTST", num_input_channels=3, context_length=32,
                   patch_length=8, patch_stride=8, prediction_length=8, d_model=16,
                   num_attention_heads=2, num_hidden_layers=2, ffn_dim=32)
    return (model, lambda model, x, y: model(past_values=x, future_values=y).loss,
            (torch.randn(2, 32, 3), torch.randn(2, 8, 3)))


def transcription():
    """Without SpecAugment, which draws by numpy."""
    model = create("Wav2Vec2ForCTC", "Wav2Vec2", vocab_size=32, hidden_size=32,
                   num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                   conv_dim=(16, 16, 16), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3),
                   num_feat_extract_layers=3, num_conv_pos_embeddings=16,
                   num_conv_pos_embedding_groups=4, layerdrop=0.0, apply_spec_augment=False)
    labels = torch.randint(1, 30, (2, 6))
    labels[0, 4:] = -100
    return (model, lambda model, x, y: model(input_values=x, labels=y).loss,
            (torch.randn(2, 800), labels))


def informer():
    """Halves its sequence between layers."""
    sizes = {f"{part}_{name}": value for part in ("encoder", "decoder") for name, value in (
        ("layers", 2), ("attention_heads", 2), ("ffn_dim", 32), ("layerdrop", 0.0))}
    model = create("InformerForPrediction", "Informer", prediction_length=8, context_length=16,
                   lags_sequence=[1, 2, 3], num_time_features=2, d_model=16, **sizes)
    names = ("past_values", "past_time_features", "past_observed_mask", "future_values",
             "future_time_features")
    return (model, lambda model, *batch: model(**dict(zip(names, batch))).loss,
            (torch.randn(2, 19), torch.randn(2, 19, 2), torch.ones(2, 19), torch.randn(2, 8),
             torch.randn(2, 8, 2)))


MODELS = {
    **{name: functools.partial(vision, name) for name in (
        "alexnet", "densenet121", "mnasnet0_5", "mobilenet_v2", "regnet_y_400mf",
        "shufflenet_v2_x1_0", "squeezenet1_1", "swin_t", "swin_v2_t", "vgg13")},
    "googlenet": functools.partial(vision, "googlenet", aux_logits=False, init_weights=False),
    **{name: functools.partial(video, name) for name in ("r3d_18", "mc3_18", "r2plus1d_18")},
    **{name: functools.partial(segmentation, name) for name in (
        "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large")},
    "retinanet": functools.partial(detector, "RetinaNet"),
    "fcos": functools.partial(detector, "FCOS"),
    "maxvit": maxvit, "swin3d": swin3d, "whisper": whisper, "wav2vec2": wav2vec2,
    "transcription": transcription, "informer": informer,
    "vit_mae": vit_mae, "clip": clip, "segformer": segformer, "patchtst": patchtst,
    **{name.lower(): functools.partial(language, name, **DECODER) for name in (
        "Mistral", "Qwen2", "Phi", "Phi3", "StableLm", "Olmo2", "Cohere")},
    **{name.lower(): functools.partial(language, name, **DECODER, head_dim=8)
       for name in ("Qwen3", "Gemma", "Gemma2")},
    "qwen3moe": functools.partial(
        language, "Qwen3Moe", **DECODER, head_dim=8, num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=32, output_router_logits=True),
    "gemma3": functools.partial(language, "Gemma3", "Gemma3Text", **DECODER, head_dim=8,
                                sliding_window=8),
    "gptneox": functools.partial(language, "GPTNeoX", **SMALL, rotary_pct=0.5),
    "gptj": functools.partial(language, "GPTJ", vocab_size=120, n_embd=32, n_layer=2, n_head=4,
                              rotary_dim=4, n_positions=40),
    **{name.lower(): functools.partial(language, name, padded=False, **DECODER, **options)
       for name, options in (
           ("SmolLM3", {}), ("DiffLlama", {}),
           ("Exaone4", dict(sliding_window=8, layer_types=["sliding_attention", "full_attention"])),
           ("Lfm2", dict(layer_types=["conv", "full_attention"])),
           ("Qwen2Moe", dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16,
                             shared_expert_intermediate_size=32)),
           ("Olmoe", dict(num_experts=4, num_experts_per_tok=2)),
           ("MiniMax", dict(layer_types=["linear_attention", "full_attention"], block_size=8,
                            num_local_experts=2, num_experts_per_tok=1, head_dim=8)),
           ("Jamba", dict(num_experts=2, num_experts_per_tok=1, expert_layer_period=2,
                          expert_layer_offset=1, attn_layer_period=2, attn_layer_offset=1,
                          use_mamba_kernels=False, mamba_d_state=8)),
           ("Bamba", dict(mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_chunk_size=8,
                          attn_layer_indices=[1])),
           ("Qwen3Next", dict(head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4,
                              linear_key_head_dim=8, linear_value_head_dim=8, num_experts=4,
                              num_experts_per_tok=2, moe_intermediate_size=16,
                              shared_expert_intermediate_size=16,
                              layer_types=["linear_attention", "full_attention"])))},
    "falconmamba": functools.partial(language, "FalconMamba", padded=False, vocab_size=120,
                                     hidden_size=32, num_hidden_layers=2, state_size=8),
    "gptneo": functools.partial(language, "GPTNeo", vocab_size=120, hidden_size=32, num_layers=2,
                                num_heads=4, attention_types=[[["global", "local"], 1]],
                                max_position_embeddings=40, window_size=4, intermediate_size=64),
    "gptbigcode": functools.partial(language, "GPTBigCode", vocab_size=120, n_embd=32, n_layer=2,
                                    attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0,
                                    n_head=4, n_positions=40),
    # Its attention is a torch.autograd.Function.
    "yoso": functools.partial(classifier, "Yoso", **dict(ENCODER, max_position_embeddings=16),
                              use_expectation=True),
    "opt": functools.partial(language, "OPT", vocab_size=120, hidden_size=32,
                             num_hidden_layers=2, num_attention_heads=4, ffn_dim=64,
                             max_position_embeddings=40, word_embed_proj_dim=32),
    "bloom": functools.partial(language, "Bloom", vocab_size=120, hidden_size=32, n_layer=2,
                               n_head=4),
    "falcon": functools.partial(language, "Falcon", vocab_size=120, hidden_size=32,
                                num_hidden_layers=2, num_attention_heads=4),
    "mamba": functools.partial(language, "Mamba", padded=False, vocab_size=120, hidden_size=32,
                               num_hidden_layers=2, state_size=8),
    "distilbert": functools.partial(classifier, "DistilBert", vocab_size=120, dim=32, n_layers=2,
                                    n_heads=4, hidden_dim=64, max_position_embeddings=40),
    "roberta": functools.partial(classifier, "Roberta", **ENCODER, pad_token_id=1),
    "electra": functools.partial(classifier, "Electra", **ENCODER, embedding_size=16),
    "albert": functools.partial(classifier, "Albert", **ENCODER, embedding_size=16),
    "mpnet": functools.partial(classifier, "MPNet", **ENCODER),
    "xlnet": functools.partial(classifier, "XLNet", vocab_size=120, d_model=32, n_layer=2,
                               n_head=4, d_inner=64),
    "funnel": functools.partial(classifier, "Funnel", vocab_size=120, block_sizes=[1, 1],
                                d_model=32, n_head=4, d_head=8, d_inner=64),
    # With the kind of problem: else the model asks the labels, which torch.export refuses.
    "debertav2": functools.partial(
        classifier, "DebertaV2", **ENCODER, relative_attention=True, position_buckets=8,
        pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm",
        problem_type="single_label_classification"),
    "bart": functools.partial(translation, "Bart", **BOTH),
    "pegasus": functools.partial(translation, "Pegasus", **BOTH),
    "mt5": functools.partial(translation, "MT5", vocab_size=120, d_model=32, d_kv=8, d_ff=64,
                             num_layers=2, num_heads=4, decoder_start_token_id=0),
    "deit": functools.partial(images, "DeiT", **IMAGES),
    "beit": functools.partial(images, "Beit", **IMAGES, use_relative_position_bias=True),
    "dinov2": functools.partial(images, "Dinov2", **{k: v for k, v in IMAGES.items()
                                                     if k != "intermediate_size"}),
    "convnextv2": functools.partial(images, "ConvNextV2", hidden_sizes=[16, 32], depths=[1, 1],
                                    num_stages=2),
}


def run(model, loss, batch, wide):
    """PyTorch's loss and gradient norm of each step."""
    model = copy.deepcopy(model)
    if wide:
        model = model.double()
        batch = tuple(t.double() if t.is_floating_point() else t for t in batch)
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    results = []
    for _ in range(3):
        optimizer.zero_grad()
        value = loss(model, *batch)
        value.backward()
        squares = [p.grad.double().square().sum() for p in model.parameters()
                   if p.grad is not None]
        results.append((value.item(), sum(squares).sqrt().item()))
        optimizer.step()
    return results


def check(name):
    torch.manual_seed(0)
    model, loss, batch = MODELS[name]()
    model.train()
    theirs = run(model, loss, batch, False)
    try:
        exact = run(model, loss, batch, True)
    except RuntimeError:
        exact = theirs  # Some make f32 of what they are given.
    step = mpt.torch.TrainStep(model, loss, torch.optim.SGD(model.parameters(), RATE), batch)
    mine = [(r.loss, r.grad_norm) for r in (step(*batch) for _ in range(3))]

    def near(a, b):
        return abs(a[0] - b[0]) <= 1e-4 * abs(b[0]) and abs(a[1] - b[1]) <= 1e-3 * abs(b[1])

    equal = {i: near(mine[i], theirs[i]) or near(mine[i], exact[i]) for i in (0, 2)}
    # What two right computations do not agree about says nothing.
    steady = near(theirs[2], exact[2])
    text = "; ".join(f"step {i + 1}: loss {mine[i][0]:.7g} norm {mine[i][1]:.7g}, PyTorch "
                     f"{theirs[i][0]:.7g} {theirs[i][1]:.7g}, in f64 {exact[i][0]:.7g} "
                     f"{exact[i][1]:.7g}" for i in (0, 2))
    fine = equal[0] and (equal[2] or not steady)
    print(f"{name}: {'equal' if fine else 'DIFFERS'}"
          f"{'' if steady else ' (PyTorch in f32 and f64 part by step 3)'}: {text}", flush=True)
    return fine


def main():
    torch.set_num_threads(2)
    names = sys.argv[1:]
    failed = False
    for name in MODELS if names == ["all"] else names:
        try:
            failed |= not check(name)
        except ImportError as error:
            print(f"{name}: skipped, {error}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
