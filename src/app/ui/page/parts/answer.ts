import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { noteSignedOut } from "../data/server.ts";

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
