"""Seconds from a PyTorch model to a step that runs: torch.export, PyTorch's functional form of
the graph, and MPT.

    ready_time.py gpt2|llama|bert|resnet50|densenet121 [--precision=f32] [--threads=1]

GPT-2 has 124 million parameters and one sequence of 512 tokens; Llama has 32 layers of width
32; BERT is the base model with 8 sequences of 128 tokens and two classes; ResNet and DenseNet
are torchvision's with 8 images of 224 x 224. CPU time of this process, then seconds by the
clock, with as many threads for MPT. Needs torch, transformers and torchvision.
"""
import argparse
import resource
import time

import torch
import transformers

import mpt.torch


def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def language(model, x):
    return model(input_ids=x, labels=x).loss


def gpt2():
    config = transformers.GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False)
    return (transformers.GPT2LMHeadModel(config), language,
            (torch.randint(3, config.vocab_size, (1, 512)),))


def llama():
    config = transformers.LlamaConfig(
        vocab_size=256, hidden_size=32, num_hidden_layers=32, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=64, max_position_embeddings=64, use_cache=False)
    return (transformers.LlamaForCausalLM(config), language,
            (torch.randint(3, config.vocab_size, (1, 32)),))


def bert():
    config = transformers.BertConfig(hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    return (transformers.BertForSequenceClassification(config),
            lambda model, x, y: model(input_ids=x, labels=y).loss,
            (torch.randint(3, config.vocab_size, (8, 128)), torch.randint(0, 2, (8,))))


def vision(name):
    import torchvision
    return (getattr(torchvision.models, name)(),
            lambda model, x, y: torch.nn.functional.cross_entropy(model(x), y),
            (torch.randn(8, 3, 224, 224), torch.randint(0, 1000, (8,))))


MODELS = {"gpt2": gpt2, "llama": llama, "bert": bert, "resnet50": lambda: vision("resnet50"),
          "densenet121": lambda: vision("densenet121")}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--precision", default="f32")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    spent, clock = {}, {}

    def measure(owner, name, label):
        function = getattr(owner, name)

        def timed(*arguments, **named):
            begin, start = used(), time.perf_counter()
            result = function(*arguments, **named)
            spent[label] = spent.get(label, 0) + used() - begin
            clock[label] = clock.get(label, 0) + time.perf_counter() - start
            return result
        setattr(owner, name, timed)

    measure(torch.export, "export", "torch.export")
    measure(torch.export.ExportedProgram, "run_decompositions", "run_decompositions")
    model, loss, batch = MODELS[options.model]()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    begin, start = used(), time.perf_counter()
    step = mpt.torch.TrainStep(model, loss, optimizer=optimizer, example=batch,
                               threads=options.threads, precision=options.precision)
    spent["MPT"] = used() - begin - sum(spent.values())
    clock["MPT"] = time.perf_counter() - start - sum(clock.values())
    first = time.perf_counter()
    value = step(*batch).loss
    clock["first step"] = time.perf_counter() - first
    print("  ".join(f"{label} {seconds:.1f} s" for label, seconds in spent.items()))
    print("by the clock: " + "  ".join(f"{label} {seconds:.1f} s" for label, seconds in clock.items()))
    print(f"loss {value:.4f}")


if __name__ == "__main__":
    main()
