"""Seconds from a PyTorch model to a step that runs: torch.export, PyTorch's functional form of
the graph, and MPT.

    ready_time.py gpt2|llama [--precision=f32]

GPT-2 has 124 million parameters and one sequence of 512 tokens; Llama has 32 layers of width
32. CPU time of this process, with one thread. Needs torch and transformers.
"""
import argparse
import resource

import torch
import transformers

import mpt.torch


def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def gpt2():
    config = transformers.GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False)
    return transformers.GPT2LMHeadModel(config), torch.randint(3, config.vocab_size, (1, 512))


def llama():
    config = transformers.LlamaConfig(
        vocab_size=256, hidden_size=32, num_hidden_layers=32, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=64, max_position_embeddings=64, use_cache=False)
    return transformers.LlamaForCausalLM(config), torch.randint(3, config.vocab_size, (1, 32))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=("gpt2", "llama"))
    parser.add_argument("--precision", default="f32")
    options = parser.parse_args()
    torch.set_num_threads(1)
    spent = {}

    def time(owner, name, label):
        function = getattr(owner, name)

        def timed(*arguments, **named):
            begin = used()
            result = function(*arguments, **named)
            spent[label] = spent.get(label, 0) + used() - begin
            return result
        setattr(owner, name, timed)

    time(torch.export, "export", "torch.export")
    time(torch.export.ExportedProgram, "run_decompositions", "run_decompositions")
    model, tokens = {"gpt2": gpt2, "llama": llama}[options.model]()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    begin = used()
    step = mpt.torch.TrainStep(model, lambda model, x: model(input_ids=x, labels=x).loss,
                               optimizer=optimizer, example=(tokens,), threads=1,
                               precision=options.precision)
    spent["MPT"] = used() - begin - sum(spent.values())
    print("  ".join(f"{label} {seconds:.1f} s" for label, seconds in spent.items()))
    print(f"loss {step(tokens).loss:.4f}")


if __name__ == "__main__":
    main()
