"""The training loop: loss on the answer's tokens only, within a budget of seconds, resumable, the best state kept."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from assistant.classifier.decoding import SELDOM, padded
from assistant.classifier.recipe import Recipe
from assistant.extras import need
from assistant.trust import CHECKPOINT, checked, remember

CHUNK = 16
"""Batches among which messages of like length are put together."""


class Lesson(Struct, frozen=True, kw_only=True):
    """One message to learn from: what is read and what is to be answered, as token ids.

    Attributes:
      prompt: the whole of what is read.
      answer: what is answered.
      allowed: what might have been written in place of each token of the answer, itself among it.
      judged: tokens of the codes that are judged one by one too; none where a code is several tokens.
    """

    prompt: Sequence[int]
    answer: Sequence[int]
    allowed: Sequence[Sequence[int]]
    judged: Sequence[int] = ()


class Mark(Struct, frozen=True, kw_only=True):
    """One evaluation during a training.

    Attributes:
      step: weight changes so far.
      seconds: of training so far, evaluations included.
      examples: messages read so far.
      loss: mean on the training messages since the last mark.
      valid_loss: on the validation messages.
      exact: share of validation messages answered exactly right.
    """

    step: int
    seconds: float
    examples: int
    loss: float
    valid_loss: float
    exact: float


class Course(Struct, frozen=True, kw_only=True):
    """What a training does besides its recipe.

    Attributes:
      budget: seconds, evaluations included.
      clock: what the seconds are told by; `time.process_time` where others share the machine.
      folder: where checkpoints go; None writes none.
      resume: go on from the checkpoint there.
      report: takes every mark.
      tick: takes the share of the training that is done, after every step.
    """

    budget: float
    clock: Callable[[], float] = time.monotonic
    folder: Path | None = None
    resume: bool = False
    report: Callable[[Mark], None] = lambda mark: None
    tick: Callable[[float], None] = lambda share: None


class _State:
    """Where a training is."""

    def __init__(self) -> None:
        self.step = 0
        self.epoch = 0
        self.place = 0
        self.length = 0
        self.examples = 0
        self.seconds = 0.0
        self.marks: list[Mark] = []
        self.best: dict[str, Any] = {}
        self.worse = 0


def train(
    model: Any,
    lessons: Callable[[int], Sequence[Lesson]],
    valid: Sequence[Lesson],
    check: Callable[[], float],
    recipe: Recipe,
    course: Course,
    *,
    pad: int,
) -> list[Mark]:
    """Train a model and leave it in its best state.

    Args:
      model: causal language model, LoRA around it or not.
      lessons: epoch -> the messages of that epoch, in no particular order.
      valid: messages to measure the loss on.
      check: gives the share of validation messages that the model answers exactly right.
      recipe: how.
      course: budget, checkpoints, reports.
      pad: id of the padding token.

    Returns:
      The marks, of resumed parts too.

    Raises:
      UserError: packages are missing.
    """
    need("torch", "accelerate")
    accelerator, model, optimizer = _prepared(model, recipe)
    state = _State()
    if course.resume and course.folder is not None:
        _restore(course.folder / CHECKPOINT, model, optimizer, state)
    began = course.clock() - state.seconds
    every = 1 / max(recipe.evaluations, 1)
    share = _share(state, recipe, course, state.seconds)
    due, losses = (len(state.marks) + 1) * every, []
    model.train()
    for batch in _batches(lessons, recipe, state):
        if share >= 1:
            break
        rate = recipe.rate * _height(share, recipe.warm_up)
        losses.append(_learn(accelerator, model, optimizer, batch, pad, rate))
        state.step += 1
        state.examples += len(batch)
        share = _share(state, recipe, course, course.clock() - began)
        course.tick(share)
        if share >= due:
            _evaluate(model, valid, check, pad, state, losses, course.clock() - began, course)
            share = _share(state, recipe, course, course.clock() - began)
            due, losses = max(due + every, share + every / 2), []
            _save(course.folder, model, optimizer, state)
            if recipe.patience and state.worse >= recipe.patience:
                break
    if losses or not state.marks:
        _evaluate(model, valid, check, pad, state, losses, course.clock() - began, course)
    model.load_state_dict(state.best, strict=False)
    model.eval()
    _forget(course.folder)
    return state.marks


def _prepared(model: Any, recipe: Recipe) -> tuple[Any, Any, Any]:
    """The accelerator, the model in its hands, and the optimizer."""
    import torch
    from accelerate import Accelerator

    if recipe.threads:
        torch.set_num_threads(recipe.threads)
    accelerator = Accelerator(gradient_accumulation_steps=recipe.accumulation)
    weights = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=recipe.rate, weight_decay=0.01, betas=(0.9, 0.98))
    return accelerator, *accelerator.prepare(model, optimizer)


def _learn(accelerator: Any, model: Any, optimizer: Any, batch: Sequence[Lesson], pad: int, rate: float) -> float:
    """Learn from one batch at a rate; its loss."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    with accelerator.accumulate(model):
        loss = answer_loss(model, batch, pad)
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return float(loss.detach())


def answer_loss(model: Any, batch: Sequence[Lesson], pad: int) -> Any:
    """Mean loss on the choices of the answers, each among what may be written there; what is forced costs nothing.

    Padding is on the left, so that all answers end together; the output layer is worked out for the answers alone.
    """
    import torch
    from torch.nn.functional import cross_entropy

    device = next(model.parameters()).device
    longest = max(len(lesson.answer) for lesson in batch)
    ids, mask = padded([[*lesson.prompt, *lesson.answer] for lesson in batch], pad)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    out = model(
        input_ids=ids.to(device),
        attention_mask=mask.to(device),
        position_ids=positions.to(device),
        use_cache=False,
        logits_to_keep=longest + 1,
    )
    rows, places, choices, taken = [], [], [], []
    for row, lesson in enumerate(batch):
        before = longest - len(lesson.answer)
        for place, (token, allowed) in enumerate(zip(lesson.answer, lesson.allowed, strict=True)):
            if len(allowed) > 1:
                rows.append(row)
                places.append(before + place)
                choices.append(allowed)
                taken.append(allowed.index(token))
    chosen, real = padded(choices, pad)
    logits = out.logits[torch.tensor(rows), torch.tensor(places)].float()
    among = logits.gather(1, chosen.to(device)).masked_fill(real.to(device) == 0, -math.inf)
    shift = chosen.shape[1] - torch.tensor([len(allowed) for allowed in choices])
    loss = cross_entropy(among, (torch.tensor(taken) + shift).to(device))
    return loss + _judged(out.logits, batch, longest, pad)


def _judged(logits: Any, batch: Sequence[Lesson], longest: int, pad: int) -> Any:
    """Mean loss of judging every code by itself, where the answer begins."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits

    if not any(lesson.judged for lesson in batch):
        return 0.0
    codes, real = padded([list(lesson.judged) for lesson in batch], pad)
    held = [set(lesson.answer) for lesson in batch]
    wanted = torch.tensor([[float(code in own) for code in row] for row, own in zip(codes.tolist(), held, strict=True)])
    starts = torch.tensor([longest - len(lesson.answer) for lesson in batch])
    said = logits[torch.arange(len(batch)), starts].float().gather(1, codes.to(logits.device)) - SELDOM
    weight = real.float().to(logits.device)
    return binary_cross_entropy_with_logits(said, wanted.to(logits.device), weight, reduction="sum") / len(batch)


def mean_loss(model: Any, lessons: Sequence[Lesson], pad: int, batch: int = 32) -> float:
    """The loss on messages that are not learnt from."""
    import torch

    if not lessons:
        return math.nan
    ordered = sorted(lessons, key=lambda lesson: len(lesson.prompt))
    total = 0.0
    with torch.inference_mode():
        for at in range(0, len(ordered), batch):
            part = ordered[at : at + batch]
            total += float(answer_loss(model, part, pad)) * len(part)
    return total / len(ordered)


def _batches(lessons: Callable[[int], Sequence[Lesson]], recipe: Recipe, state: _State) -> Iterator[list[Lesson]]:
    """The batches from where the training is; the order follows from seed and epoch alone, so it can be resumed."""
    while state.epoch < recipe.epochs:
        draw = random.Random(f"{recipe.seed} {state.epoch}")  # noqa: S311 - an order, not a secret
        order = list(lessons(state.epoch))
        draw.shuffle(order)
        batches = []
        size = recipe.batch * CHUNK
        for at in range(0, len(order), size):
            part = sorted(order[at : at + size], key=lambda lesson: len(lesson.prompt))
            batches += [part[start : start + recipe.batch] for start in range(0, len(part), recipe.batch)]
        draw.shuffle(batches)
        state.length = len(batches)
        while state.place < len(batches):
            state.place += 1
            yield batches[state.place - 1]
        state.epoch, state.place = state.epoch + 1, 0


def _share(state: _State, recipe: Recipe, course: Course, seconds: float) -> float:
    """How much of the training is done: by the clock, or by epochs where those end first."""
    epochs = state.epoch + (state.place / state.length if state.length else 0)
    return max(seconds / course.budget, epochs / recipe.epochs)


def _height(share: float, warm_up: float) -> float:
    """The learning rate over the training: a rise, then a cosine down to a twentieth."""
    if share < warm_up:
        return max(share / warm_up, 0.02)
    return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min((share - warm_up) / (1 - warm_up), 1)))


def _evaluate(
    model: Any,
    valid: Sequence[Lesson],
    check: Callable[[], float],
    pad: int,
    state: _State,
    losses: Sequence[float],
    seconds: float,
    course: Course,
) -> None:
    model.eval()
    began = course.clock()
    valid_loss, exact = mean_loss(model, valid, pad), check()
    state.seconds = seconds + course.clock() - began
    mark = Mark(
        step=state.step,
        seconds=round(state.seconds, 1),
        examples=state.examples,
        loss=sum(losses) / len(losses) if losses else math.nan,
        valid_loss=valid_loss,
        exact=exact,
    )
    best = max(state.marks, key=_merit, default=None)
    state.marks.append(mark)
    if best is None or _merit(mark) > _merit(best):
        kept = {name for name, p in model.named_parameters() if p.requires_grad}
        state.best = {name: t.detach().clone() for name, t in model.state_dict().items() if name in kept}
        state.worse = 0
    else:
        state.worse += 1
    course.report(mark)
    model.train()


def best_of(marks: Sequence[Mark]) -> Mark:
    """The mark whose state a training ends in."""
    return max(marks, key=_merit)


def _merit(mark: Mark) -> tuple[float, float]:
    return mark.exact, -mark.valid_loss


def _save(folder: Path | None, model: Any, optimizer: Any, state: _State) -> None:
    if folder is None:
        return
    import torch

    kept = {name for name, p in model.named_parameters() if p.requires_grad}
    content = {
        "model": {name: t for name, t in model.state_dict().items() if name in kept},
        "best": state.best,
        "optimizer": optimizer.state_dict(),
        "numbers": [state.step, state.epoch, state.place, state.length, state.examples, state.seconds, state.worse],
        "marks": [[m.step, m.seconds, m.examples, m.loss, m.valid_loss, m.exact] for m in state.marks],
    }
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / (CHECKPOINT + ".new")
    torch.save(content, new)
    new.replace(folder / CHECKPOINT)
    remember(folder / CHECKPOINT)


def _forget(folder: Path | None) -> None:
    if folder is not None:
        (folder / CHECKPOINT).unlink(missing_ok=True)


def _restore(path: Path, model: Any, optimizer: Any, state: _State) -> None:
    """Go on from a checkpoint; without one the training begins."""
    import torch

    if not path.exists():
        return
    content = torch.load(checked(path), weights_only=True)
    model.load_state_dict(content["model"], strict=False)
    optimizer.load_state_dict(content["optimizer"])
    state.step, state.epoch, state.place, state.length, *others = content["numbers"]
    state.examples, state.seconds, state.worse = others
    names = ("step", "seconds", "examples", "loss", "valid_loss", "exact")
    state.marks = [Mark(**dict(zip(names, row, strict=True))) for row in content["marks"]]
    state.best = content["best"]
