import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { RequestFailure } from "../../data/api.ts";
import { type ObjectName, pathOfObject, readYaml, writeYaml } from "../../data/kinds.ts";
import { confirmAloud } from "../../data/page.ts";
import { obstacle } from "../../data/server.ts";
import { useAnswer } from "../../parts/answer.ts";
import { Failure, Loading } from "../../parts/states.tsx";
import { onVersionOf } from "../../parts/line-diff.ts";
import { Diff } from "../../parts/diff.tsx";

export function Editor(object: ObjectName) {
  const path = pathOfObject(object.kind, object.namespace, object.name);
  const [answer, again] = useAnswer((signal) => readYaml(path, signal));
  if (answer.is === "loading") return <Loading what={object.name} />;
  if (answer.is === "failed") return <Failure thrown={answer.thrown} onRetry={again} />;
  return <Form key={answer.value} path={path} name={object.name} loaded={answer.value} />;
}

type Step =
  | { readonly is: "editing" }
  | { readonly is: "busy"; readonly what: string }
  /** What the server would store, compared with what it has. */
  | { readonly is: "checked"; readonly result: string }
  | { readonly is: "refused"; readonly failure: RequestFailure | Error }
  /** Somebody else has changed it. `theirs` is what is there now. */
  | { readonly is: "conflict"; readonly theirs: string }
  | { readonly is: "saved" };

function Form({ path, name, loaded }: { readonly path: string; readonly name: string; readonly loaded: string }) {
  const before = useSignal(loaded);
  const text = useSignal(loaded);
  const step = useSignal<Step>({ is: "editing" });
  const reason = obstacle();
  const isChanged = text.value !== before.value;
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent): void => {
      if (text.peek() !== before.peek()) event.preventDefault();
    };
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, []);
  const attempt = async (what: string, work: () => Promise<Step>): Promise<void> => {
    step.value = { is: "busy", what };
    try {
      step.value = await work();
    } catch (thrown) {
      step.value = await afterFailure(thrown);
    }
  };
  const afterFailure = async (thrown: unknown): Promise<Step> => {
    const failure = thrown instanceof Error ? thrown : new Error(String(thrown));
    if (!(failure instanceof RequestFailure && failure.status === 409)) return { is: "refused", failure };
    try {
      return { is: "conflict", theirs: await readYaml(path) };
    } catch {
      return { is: "refused", failure };
    }
  };
  const check = () =>
    attempt("Checking", async () => ({ is: "checked", result: await writeYaml(path, text.peek(), true) }));
  const save = () =>
    attempt("Saving", async () => {
      const stored = await writeYaml(path, text.peek(), false);
      before.value = stored;
      text.value = stored;
      confirmAloud(`${name} is saved`);
      return { is: "saved" };
    });
  const isBusy = step.value.is === "busy";
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void check();
      }}
    >
      <label class="field">
        YAML of {name}
        <textarea
          class="code"
          spellcheck={false}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            step.value = { is: "editing" };
          }}
        />
      </label>
      <p class="buttons">
        <button
          type="submit"
          class={step.value.is === "checked" ? "" : "primary"}
          disabled={!isChanged || isBusy || reason !== undefined}
        >
          Check and compare
        </button>
        {step.value.is === "checked" && (
          <button type="button" class="primary" disabled={reason !== undefined} onClick={() => void save()}>
            Save {name}
          </button>
        )}
        <button
          type="button"
          disabled={!isChanged || isBusy}
          onClick={() => {
            text.value = before.value;
            step.value = { is: "editing" };
          }}
        >
          Discard changes
        </button>
        <span class="muted">{reason ?? (isChanged ? "" : "Nothing is changed.")}</span>
      </p>
      <div role="status">
        <Outcome
          step={step.value}
          before={before.value}
          text={text.value}
          onRebase={(theirs) => {
            before.value = theirs;
            text.value = onVersionOf(text.peek(), theirs);
            void check();
          }}
          onTake={(theirs) => {
            before.value = theirs;
            text.value = theirs;
            step.value = { is: "editing" };
          }}
        />
      </div>
    </form>
  );
}

interface OutcomeProps {
  readonly step: Step;
  readonly before: string;
  readonly text: string;
  readonly onRebase: (theirs: string) => void;
  readonly onTake: (theirs: string) => void;
}

function Outcome({ step, before, text, onRebase, onTake }: OutcomeProps) {
  switch (step.is) {
    case "editing":
      return null;
    case "busy":
      return <p class="muted">{step.what}…</p>;
    case "saved":
      return <p>Saved. The text above is what the server has stored.</p>;
    case "refused":
      return (
        <div class="reason">
          <strong>The server refuses this.</strong> {step.failure.message}
        </div>
      );
    case "checked":
      return (
        <>
          <h3>What saving changes</h3>
          <p class="muted">The server accepts it. Fields that it sets by itself are included.</p>
          <Diff before={before} after={step.result} />
        </>
      );
    case "conflict":
      return (
        <>
          <div class="reason">
            <strong>The object has changed since you opened it.</strong> Your text is not saved. Compare, then choose.
          </div>
          <h3>Changes of the stored object</h3>
          <Diff before={before} after={step.theirs} />
          <h3>Changes that your text makes to it</h3>
          <Diff before={step.theirs} after={onVersionOf(text, step.theirs)} />
          <p class="buttons">
            <button type="button" onClick={() => onRebase(step.theirs)}>
              Keep my text
            </button>
            <button type="button" onClick={() => onTake(step.theirs)}>
              Edit the stored object
            </button>
          </p>
        </>
      );
  }
}
