import { useSignal } from "@preact/signals";
import type { TargetedSubmitEvent } from "preact";
import { useMemo } from "preact/hooks";
import type { RunSummary } from "#app/ui/wire.ts";
import { type Outcome, performAll } from "../data/bulk.ts";
import { type BulkAction, planOf } from "../data/bulk-plan.ts";
import { confirmAloud } from "../data/page.ts";
import { textOfRef } from "../data/refs.ts";
import { keyText } from "../data/runs.ts";
import { Dialog } from "./dialog.tsx";
import { PhaseShape } from "./phase.tsx";

export interface BulkProps {
  readonly action: BulkAction;
  readonly runs: readonly RunSummary[];
  /** Runs that the action was done to. */
  readonly onDone: (runs: readonly RunSummary[]) => void;
  readonly onClose: () => void;
}

const labels: Readonly<Record<BulkAction, string>> = { cancel: "Cancel", retry: "Retry", delete: "Delete" };

const effects: Readonly<Record<BulkAction, string>> = {
  cancel: "Running steps end now; final steps still run.",
  retry: "Steps that failed, and all that depend on them, run again. Steps that succeeded are kept.",
  delete: "Each object is deleted with everything that it owns, as by kubectl delete. This cannot be undone.",
};

const counted = (count: number): string => `${count} ${count === 1 ? "run" : "runs"}`;

/** One question for all runs, which lists what happens to each, and then what has happened. */
export function Bulk({ action, runs, onDone, onClose }: BulkProps) {
  const label = labels[action];
  const outcomes = useSignal<ReadonlyMap<string, Outcome>>(new Map());
  const state = useSignal<"asked" | "working" | "over">("asked");
  // Rows change, and may go, while the dialog is open.
  const plans = useMemo(() => runs.map((run) => ({ run, ...planOf(action, run) })), []);
  const wanted = plans.filter(({ isDone }) => isDone).map(({ run }) => run);
  const title = `${label} ${runs.length === 1 ? (runs[0]?.name ?? "") : counted(wanted.length)}?`;
  const wrong = [...outcomes.value.values()].filter(({ isWrong }) => isWrong).length;
  const said = `${outcomes.value.size - wrong} of ${wanted.length} done${wrong === 0 ? "" : `, ${wrong} failed`}`;
  const close = (): void => {
    if (state.peek() === "over") confirmAloud(said);
    onClose();
  };
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    if (state.peek() === "working") return;
    if (state.peek() === "over") return close();
    const comment = new FormData(event.currentTarget).get("comment");
    state.value = "working";
    await performAll(action, wanted, typeof comment === "string" ? comment.trim() : "", (run, outcome) => {
      outcomes.value = new Map(outcomes.peek()).set(keyText(run), outcome);
    });
    state.value = "over";
    onDone(wanted.filter((run) => outcomes.peek().get(keyText(run))?.isWrong === false));
  };
  return (
    <Dialog title={title} onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <h2 class="wrap">{title}</h2>
        <p>{effects[action]}</p>
        <ul class="outcomes" tabIndex={0} aria-label="What happens to each run">
          {plans.map(({ run, isDone, text }) => {
            const outcome = outcomes.value.get(keyText(run));
            const isPending = isDone && outcome === undefined && state.value !== "asked";
            return (
              <li key={keyText(run)} class={isDone ? "" : "muted"}>
                <PhaseShape phase={run.phase} />
                <span class="wrap">
                  <span class="mono">{textOfRef(run.ref)}</span>{" "}
                  <span class={outcome?.isWrong === true ? "wrong" : "muted"}>
                    {outcome?.isWrong === true && <strong>failed: </strong>}
                    {isPending ? "…" : (outcome?.text ?? text)}
                  </span>
                </span>
              </li>
            );
          })}
        </ul>
        {action !== "delete" && state.value === "asked" && (
          <label class="field">
            Comment, for other people (optional)
            <input name="comment" autoComplete="off" maxLength={1000} />
          </label>
        )}
        <p role="status">{state.value !== "asked" && said}</p>
        <p class="dialog-buttons">
          {state.value === "asked" && (
            <button type="button" onClick={close}>
              Keep as {runs.length === 1 ? "it is" : "they are"}
            </button>
          )}
          <button
            type="submit"
            class={action === "retry" || state.value !== "asked" ? "primary" : "dangerous"}
            disabled={state.value === "asked" && wanted.length === 0}
            // Disabled it would lose the focus.
            aria-disabled={state.value === "working"}
          >
            {state.value === "asked"
              ? `${label} ${counted(wanted.length)}`
              : state.value === "working"
                ? "Working…"
                : "Close"}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
