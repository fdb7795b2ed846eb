import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Millis } from "#lib/base/index.ts";
import type { Subscription } from "#app/ui/wire.ts";
import { noteSignedOut, stream } from "../data/server.ts";
import { clock } from "../data/time.ts";

export type Answer<T> =
  | { readonly is: "loading" }
  | { readonly is: "ready"; readonly value: T }
  | { readonly is: "failed"; readonly thrown: unknown };

/**
 * One answer of the server, asked again with the returned function and whenever `key` changes. What was there stays
 * until then.
 */
export function useAnswer<T>(
  ask: (signal: AbortSignal) => Promise<T>,
  key = "",
): readonly [answer: Answer<T>, again: () => void] {
  const answer = useSignal<Answer<T>>({ is: "loading" });
  const round = useSignal(0);
  useEffect(() => {
    const abort = new AbortController();
    ask(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) answer.value = { is: "ready", value };
      },
      (thrown: unknown) => {
        if (abort.signal.aborted) return;
        noteSignedOut(thrown);
        answer.value = { is: "failed", thrown };
      },
    );
    return () => abort.abort();
  }, [round.value, key]);
  return [
    answer.value,
    () => {
      round.value += 1;
    },
  ];
}

/** Answers are asked for again at most this often while things change. */
const restMs: Millis = 2000;

/** Asks again while something of the subscription changes. */
export function useAgainOnChange(wanted: Omit<Subscription, "id"> | undefined, again: () => void): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    if (wanted === undefined) return;
    let cancel: (() => void) | undefined;
    const handle = stream.subscribe(wanted, ({ type }) => {
      if (cancel !== undefined || !["ADDED", "MODIFIED", "DELETED", "GONE"].includes(type)) return;
      cancel = clock.after(restMs, () => {
        cancel = undefined;
        latest.current();
      });
    });
    return () => {
      cancel?.();
      handle.close();
    };
  }, [JSON.stringify(wanted)]);
}
