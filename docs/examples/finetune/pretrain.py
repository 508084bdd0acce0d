"""Pre-trains a small BERT on masked words: pretrain.py DATA MODEL.

DATA is the folder that make_data.py filled. MODEL gets what `from_pretrained` reads.
"""

import argparse
import os

import numpy
import torch
import transformers

import mpt.torch

MASKED = 16  # tokens of each row: more than BERT's 15 %, for a short training learns more from it


def mask_words(ids, tokenizer, generator):
    """BERT's masking (Devlin et al. 2018): of the chosen tokens, 80 % become [MASK], 10 % any
    token, 10 % stay. Returns the masked rows, the places, and the tokens that were there.
    A row with fewer tokens than MASKED gets padding as its last places."""
    special = len(tokenizer.all_special_ids)  # the first ones
    places = (torch.rand(ids.shape, generator=generator) * (ids >= special)).topk(MASKED).indices
    words = ids.gather(1, places)
    words[words < special] = tokenizer.pad_token_id
    kind = torch.rand(words.shape, generator=generator)
    others = torch.randint(special, len(tokenizer), words.shape, generator=generator)
    masked = torch.where(kind < 0.9, others, words)
    masked = torch.where(kind < 0.8, tokenizer.mask_token_id, masked)
    masked = torch.where(words == tokenizer.pad_token_id, ids.gather(1, places), masked)
    return ids.scatter(1, places, masked), places, words


def loss(model, ids, attention_mask, places, words):
    """The decoder computes the masked places only: about half of the arithmetic is saved."""
    states = model.bert(ids, attention_mask=attention_mask).last_hidden_state
    states = states.gather(1, places.unsqueeze(-1).expand(-1, -1, states.shape[-1]))
    return torch.nn.functional.cross_entropy(model.cls(states).flatten(0, 1), words.flatten(),
                                             ignore_index=model.config.pad_token_id)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("model")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--precision", default="f32", choices=["f32", "f16", "bf16"])
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()

    tokenizer = transformers.AutoTokenizer.from_pretrained(
        os.path.join(arguments.data, "tokenizer"))
    text = torch.from_numpy(numpy.load(os.path.join(arguments.data, "text.npy")))
    torch.manual_seed(0)
    # No dropout, as no text is seen often. BERT's initializer_range of 0.02 suits 768 units;
    # with 128 the attention would take long to begin.
    model = transformers.BertForMaskedLM(transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=128, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=256, max_position_embeddings=text.shape[1],
        pad_token_id=tokenizer.pad_token_id, initializer_range=0.06,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)).train()
    generator = torch.Generator().manual_seed(0)

    def batch():
        rows = text[torch.randint(0, len(text), (arguments.batch,), generator=generator)]
        masked, places, words = mask_words(rows, tokenizer, generator)
        return masked, (rows != tokenizer.pad_token_id).long(), places, words

    optimizer = torch.optim.AdamW(model.parameters(), arguments.lr, betas=(0.9, 0.98),
                                  weight_decay=0.01)
    scheduler = transformers.get_linear_schedule_with_warmup(
        optimizer, arguments.steps // 10, arguments.steps)
    step = mpt.torch.TrainStep(model, loss, optimizer=optimizer, example=batch(), clip_norm=1.0,
                               precision=arguments.precision, threads=arguments.threads)
    words = text[text >= len(tokenizer.all_special_ids)].bincount()
    shares = words[words > 0] / words.sum()
    print(f"guessing by the tokens' frequencies: loss {-(shares * shares.log()).sum():.3f}")
    losses, every = [], max(1, arguments.steps // 20)
    for number in range(1, arguments.steps + 1):
        losses.append(step(*batch()).loss)
        scheduler.step()
        if number % every == 0:
            print(f"step {number}: loss {numpy.mean(losses[-every:]):.3f}", flush=True)
    step.sync_to(model)
    model.save_pretrained(arguments.model)
    tokenizer.save_pretrained(arguments.model)


if __name__ == "__main__":
    main()
