import type { Instant } from "./values.ts";

// Items of a fan-out in one small record: run-length coded phases, and exceptions from what they imply.

export const itemPhase = {
  succeeded: 83, // S
  failed: 70, // F
  skipped: 75, // K
  canceled: 88, // X
  running: 82, // R
  starting: 65, // A
  waiting: 87, // W
  cancelling: 67, // C
  pending: 80, // P
} as const;

const letters: ReadonlySet<number> = new Set(Object.values(itemPhase));

export interface ItemTry {
  readonly index: number;
  readonly attempt: number;
}

export interface ItemFailure {
  /** From 0. */
  readonly index: number;
  readonly attempt: number;
  readonly reason: string;
  readonly message?: string;
}

export interface ItemsState {
  readonly total: number;
  /** `120S1F4R875P`, in index order. */
  readonly states: string;
  /** Attempts that phases do not imply, as ranges: `0-2:2,17:3`. P, K and X imply 0, others 1. */
  readonly attempts?: string;
  /** Of earlier runs, as ranges; not part of the retry limit. */
  readonly earlier?: string;
  /** When waiting items may start, as ranges. */
  readonly waits?: string;
  /** Starts of active items, if timed, as ranges. */
  readonly since?: string;
  /** The first ten. */
  readonly failures?: readonly ItemFailure[];
}

export const isItemActive = (phase: number): boolean =>
  phase === itemPhase.running || phase === itemPhase.starting || phase === itemPhase.cancelling;

/** Only a reset moves it. */
export const isItemSettled = (phase: number): boolean =>
  phase === itemPhase.succeeded ||
  phase === itemPhase.failed ||
  phase === itemPhase.skipped ||
  phase === itemPhase.canceled;

export const impliedAttempts = (phase: number): number =>
  phase === itemPhase.pending || phase === itemPhase.skipped || phase === itemPhase.canceled ? 0 : 1;

/** `SSSFRR` as `3S1F2R`. */
export function encodePhases(phases: Uint8Array): string {
  let text = "";
  for (let from = 0; from < phases.length; ) {
    const phase = phases[from] ?? 0;
    let to = from + 1;
    while (phases[to] === phase) to++;
    text += `${to - from}${String.fromCharCode(phase)}`;
    from = to;
  }
  return text;
}

/** Unreadable ones count as canceled, so that damage starts nothing. */
export function decodePhases(text: string, total: number): Uint8Array {
  const phases = new Uint8Array(total).fill(itemPhase.canceled);
  let at = 0;
  for (const [, count = "", letter = ""] of text.matchAll(/(\d+)([A-Z])/g)) {
    const phase = letter.charCodeAt(0);
    const to = Math.min(total, at + Number(count));
    if (letters.has(phase)) phases.fill(phase, at, to);
    at = to;
  }
  return phases;
}

export function activeItems({ items }: { readonly items?: ItemsState | undefined }): readonly ActiveItem[] {
  if (items === undefined) return [];
  const phases = decodePhases(items.states, items.total);
  const attempts = attemptsOf(items, phases);
  const active: ActiveItem[] = [];
  for (let index = 0; index < items.total; index++) {
    const phase = activePhases.get(phases[index] ?? 0);
    if (phase !== undefined) active.push({ index, attempt: attempts[index] ?? 0, phase });
  }
  return active;
}

/** Up to so many idle items. */
export function idleItems(
  { items }: { readonly items?: ItemsState | undefined },
  most = Number.POSITIVE_INFINITY,
): readonly ItemTry[] {
  if (items === undefined) return [];
  const phases = decodePhases(items.states, items.total);
  const attempts = attemptsOf(items, phases);
  const idle: ItemTry[] = [];
  for (let index = 0; index < items.total && idle.length < most; index++) {
    const phase = phases[index];
    if (phase === itemPhase.pending || phase === itemPhase.waiting) idle.push({ index, attempt: attempts[index] ?? 0 });
  }
  return idle;
}

export interface ActiveItem extends ItemTry {
  readonly phase: "Starting" | "Running" | "Cancelling";
}

const activePhases: ReadonlyMap<number, ActiveItem["phase"]> = new Map([
  [itemPhase.starting, "Starting"],
  [itemPhase.running, "Running"],
  [itemPhase.cancelling, "Cancelling"],
]);

export function settledItems({ states, total }: Pick<ItemsState, "states" | "total">): (index: number) => boolean {
  const phases = decodePhases(states, total);
  return (index) => isItemSettled(phases[index] ?? itemPhase.pending);
}

/** Only starting items came alive. */
export function onlyItemsCameAlive(before: ItemsState, after: ItemsState): boolean {
  for (const name of ["total", "attempts", "earlier", "waits", "since"] as const)
    if (before[name] !== after[name]) return false;
  if (before.failures?.length !== after.failures?.length) return false;
  const [was, is] = [decodePhases(before.states, before.total), decodePhases(after.states, after.total)];
  return was.every(
    (phase, index) => phase === is[index] || (phase === itemPhase.starting && is[index] === itemPhase.running),
  );
}

/** `117 of 1000 done, 3 failed, 8 active`. */
export function summarizeItems({ total, states }: Pick<ItemsState, "total" | "states">): string {
  const { S = 0, F = 0, K = 0, X = 0, R = 0, A = 0, C = 0 } = countPhases(states);
  const told = [
    [F, "failed"],
    [K, "skipped"],
    [X, "canceled"],
    [R + A + C, "active"],
  ] as const;
  const more = told.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`]));
  return [`${S} of ${total} done`, ...more].join(", ");
}

export function countPhases(text: string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [, count = "", letter = ""] of text.matchAll(/(\d+)([A-Z])/g)) {
    counts[letter] = (counts[letter] ?? 0) + Number(count);
  }
  return counts;
}

/** `0-2:2,17:3`; undefined if empty. Ascending. */
export function encodeRanges(entries: Iterable<readonly [number, number]>): string | undefined {
  const ranges: { from: number; to: number; value: number }[] = [];
  for (const [index, value] of entries) {
    const last = ranges.at(-1);
    if (last !== undefined && last.value === value && last.to === index - 1) last.to = index;
    else ranges.push({ from: index, to: index, value });
  }
  if (ranges.length === 0) return undefined;
  return ranges.map(({ from, to, value }) => `${from === to ? from : `${from}-${to}`}:${value}`).join(",");
}

/** Unreadable parts are skipped. */
export function decodeRanges(
  text: string | undefined,
  total: number,
  take: (index: number, value: number) => void,
): void {
  for (const [, from = "", to = from, value = ""] of (text ?? "").matchAll(/(\d+)(?:-(\d+))?:(\d+)/g)) {
    const last = Math.min(total - 1, Number(to));
    for (let index = Number(from); index <= last; index++) take(index, Number(value));
  }
}

/** Rewrites times, for statuses. */
export const mapRangeValues = (text: string, rewrite: (value: string) => Instant | string): string =>
  text
    .split(",")
    .map((range) => {
      const colon = range.indexOf(":");
      return `${range.slice(0, colon)}:${rewrite(range.slice(colon + 1))}`;
    })
    .join(",");

/** All items, or those that did not succeed. Attempts count on. */
export function resetItems(items: ItemsState, keepDone: boolean): ItemsState {
  const { total } = items;
  const phases = decodePhases(items.states, total);
  const attempts = attemptsOf(items, phases);
  const isKept = (index: number) => keepDone && phases[index] === itemPhase.succeeded;
  const again = Uint8Array.from(phases, (phase, index) => (isKept(index) ? phase : itemPhase.pending));
  const earlier = encodeRanges(
    [...attempts].flatMap((count, index) => (count === 0 || isKept(index) ? [] : [[index, count] as const])),
  );
  const counts = encodeAttempts(again, attempts);
  return {
    total,
    states: encodePhases(again),
    ...(counts === undefined ? {} : { attempts: counts }),
    ...(earlier === undefined ? {} : { earlier }),
  };
}

export const newItems = (total: number): ItemsState => ({ total, states: total === 0 ? "" : `${total}P` });

/** Another number of items: all count on from the highest attempt, so that names are unique. */
export function renewItems(before: ItemsState, total: number): ItemsState {
  const most = attemptsOf(before, decodePhases(before.states, before.total)).reduce((a, b) => Math.max(a, b), 0);
  const told = encodeRanges(Array.from({ length: most === 0 ? 0 : total }, (_, index) => [index, most] as const));
  return { ...newItems(total), ...(told === undefined ? {} : { attempts: told, earlier: told }) };
}

export function attemptsOf({ attempts, total }: ItemsState, phases: Uint8Array): Uint16Array {
  const counts = new Uint16Array(total);
  for (let index = 0; index < total; index++) counts[index] = impliedAttempts(phases[index] ?? 0);
  decodeRanges(attempts, total, (index, count) => {
    counts[index] = count;
  });
  return counts;
}

export function encodeAttempts(phases: Uint8Array, attempts: Uint16Array): string | undefined {
  const told: [number, number][] = [];
  for (let index = 0; index < attempts.length; index++) {
    const count = attempts[index] ?? 0;
    if (count !== impliedAttempts(phases[index] ?? 0)) told.push([index, count]);
  }
  return encodeRanges(told);
}
