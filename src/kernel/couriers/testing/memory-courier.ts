import type { Courier, EffectAnswer, OutsideRequest } from "../courier.ts";

export interface MemoryCourier extends Courier {
  /** Every request that was performed, in order. */
  readonly sent: readonly OutsideRequest[];
  /** Forgets all files, as a new machine. */
  lose(): void;
}

/** Performs effects in memory, at most once each. What it knows survives "crashes" of the server. */
export function memoryCourier(
  perform: (request: OutsideRequest) => EffectAnswer = () => ({ ok: true, value: { statusCode: 200, body: "" } }),
): MemoryCourier {
  const answers = new Map<string, EffectAnswer>();
  const sent: OutsideRequest[] = [];
  let place = 1;
  return {
    sent,
    lose() {
      answers.clear();
      place += 1;
    },
    place: async () => `place-${place}`,
    async deliver(effect, request) {
      const known = answers.get(effect);
      if (known !== undefined) return { kind: "answer", answer: known };
      sent.push(request);
      const answer = perform(request);
      answers.set(effect, answer);
      return { kind: "answer", answer };
    },
    async outcome(effect) {
      const known = answers.get(effect);
      return known === undefined ? { kind: "absent" } : { kind: "answer", answer: known };
    },
    async forget(effects) {
      for (const effect of effects) answers.delete(effect);
    },
  };
}
