import { useSignal } from "@preact/signals";
import type { TargetedSubmitEvent } from "preact";
import type { ActionName, ObjectRef } from "#engine/index.ts";
import type { StartParameter } from "#app/ui/wire.ts";
import { act, type ActionWish } from "../data/actions.ts";
import { confirmAloud } from "../data/page.ts";
import { obstacle } from "../data/server.ts";
import { Dialog } from "./dialog.tsx";
import { usePaletteEntries } from "./hooks.ts";
import { ParameterFields, valuesOf } from "./parameter-fields.tsx";

interface ActionText {
  readonly label: string;
  /** What happens, for the question. Without it the action is not asked about. */
  readonly effect?: (isStep: boolean) => string;
  readonly isDangerous?: boolean;
}

const texts: Readonly<Record<ActionName, ActionText>> = {
  cancel: {
    label: "Cancel",
    effect: (isStep) => (isStep ? "The step ends now." : "Running steps end now; final steps still run."),
    isDangerous: true,
  },
  suspend: { label: "Suspend" },
  resume: { label: "Resume" },
  retry: {
    label: "Retry",
    effect: () => "Steps that failed, and all that depend on them, run again. Steps that succeeded are kept.",
  },
  approve: { label: "Approve", effect: () => "The step succeeds, and the run goes on." },
  reject: { label: "Reject", effect: () => "The step fails.", isDangerous: true },
  skip: { label: "Skip", effect: () => "The step does not run; the steps that depend on it do." },
};

interface ActionsProps {
  readonly target: ObjectRef;
  readonly step?: string;
  readonly actions: readonly ActionName[];
  /** Values that an approval is given along. */
  readonly asks?: readonly StartParameter[] | undefined;
}

/** Buttons for what can be done; each names its object when it asks. */
export function Actions({ target, step, actions, asks = [] }: ActionsProps) {
  const asked = useSignal<ActionName | undefined>(undefined);
  const state = useSignal("");
  const isBusy = useSignal(false);
  const withdrawal = useSignal<(() => void) | undefined>(undefined);
  const reason = obstacle();
  const object = step === undefined ? target.name : `${step} of ${target.name}`;
  const send = async (wish: ActionWish): Promise<void> => {
    asked.value = undefined;
    withdrawal.value = undefined;
    isBusy.value = true;
    state.value = "";
    try {
      const { phase, message, withdraw } = await act(wish);
      if (withdraw !== undefined) withdrawal.value = () => void takeBack(wish.action, withdraw);
      state.value =
        phase === "Refused"
          ? `${texts[wish.action].label} refused: ${message ?? "no reason given"}`
          : `${texts[wish.action].label} ${phase === "Sent" ? "sent; no answer yet" : "accepted"}`;
    } catch (thrown) {
      state.value = `${texts[wish.action].label} failed: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
    }
    isBusy.value = false;
    confirmAloud(state.value);
  };
  const takeBack = async (action: ActionName, withdraw: () => Promise<void>): Promise<void> => {
    withdrawal.value = undefined;
    const { label } = texts[action];
    state.value = await withdraw().then(
      () => `${label} withdrawn`,
      () => `${label} cannot be withdrawn any more: it was answered meanwhile`,
    );
    confirmAloud(state.value);
  };
  const wishOf = (action: ActionName): ActionWish => ({ target, action, ...(step === undefined ? {} : { step }) });
  const begin = (action: ActionName): void => {
    if (isBusy.peek()) return;
    if (texts[action].effect === undefined) void send(wishOf(action));
    else asked.value = action;
  };
  usePaletteEntries(
    actions.map((action) => ({ label: `${texts[action].label} ${object}`, hint: "action", run: () => begin(action) })),
  );
  return (
    <div class="actions">
      {actions.map((action) => (
        <button
          type="button"
          key={action}
          class={texts[action].isDangerous === true ? "dangerous" : ""}
          disabled={reason !== undefined}
          // Disabled it would lose the focus.
          aria-disabled={isBusy.value}
          title={reason}
          onClick={() => begin(action)}
        >
          {texts[action].label}
          <span class="only-heard"> {object}</span>
        </button>
      ))}
      {reason !== undefined && actions.length > 0 && <span class="muted">{reason}</span>}
      {state.value !== "" && <span class="action-state">{state.value}</span>}
      {withdrawal.value !== undefined && (
        <button type="button" onClick={withdrawal.value}>
          Withdraw it
        </button>
      )}
      {asked.value !== undefined && (
        <Question
          action={asked.value}
          object={object}
          isStep={step !== undefined}
          asks={asked.value === "approve" ? asks : []}
          onClose={() => {
            asked.value = undefined;
          }}
          onSend={(more) => asked.value !== undefined && void send({ ...wishOf(asked.value), ...more })}
        />
      )}
    </div>
  );
}

interface QuestionProps {
  readonly action: ActionName;
  readonly object: string;
  readonly isStep: boolean;
  readonly asks: readonly StartParameter[];
  readonly onClose: () => void;
  readonly onSend: (more: Pick<ActionWish, "force" | "reason" | "values">) => void;
}

function Question({ action, object, isStep, asks, onClose, onSend }: QuestionProps) {
  const given = useSignal<Readonly<Record<string, string>>>({});
  const { label, effect, isDangerous } = texts[action];
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const comment = data.get("comment");
    onSend({
      ...(typeof comment === "string" && comment.trim() !== "" ? { reason: comment.trim() } : {}),
      ...(data.get("force") === null ? {} : { force: true }),
      ...(asks.length === 0 ? {} : { values: valuesOf(asks, given.peek()) }),
    });
  };
  return (
    <Dialog title={`${label} ${object}?`} onClose={onClose}>
      <form onSubmit={submit}>
        <h2 class="wrap">
          {label} {object}?
        </h2>
        <p>{effect?.(isStep)}</p>
        <ParameterFields parameters={asks} values={given} />
        <label class="field">
          Comment, for other people (optional)
          <input name="comment" autoComplete="off" maxLength={1000} />
        </label>
        {action === "cancel" && !isStep && (
          <label class="check">
            <input type="checkbox" name="force" /> Skip the final steps as well
          </label>
        )}
        <p class="dialog-buttons">
          <button type="button" onClick={onClose}>
            Keep as it is
          </button>
          <button type="submit" class={isDangerous === true ? "dangerous" : "primary"}>
            {label}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
