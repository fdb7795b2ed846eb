import { useSignal } from "@preact/signals";
import type { LintAnswer, LintedDocument } from "#app/ui/wire.ts";
import { textAt } from "#lib/base/index.ts";
import { RequestFailure } from "../../data/api.ts";
import { resourcePath } from "../../data/kinds.ts";
import { confirmAloud } from "../../data/page.ts";
import { runPath } from "../../data/refs.ts";
import { navigate } from "../../data/router.ts";
import { obstacle } from "../../data/server.ts";
import { create } from "../../data/start.ts";

/** Problems, the steps of each run, and the buttons, of documents that were checked. */
export function StartResult({ answer: { problems, documents } }: { readonly answer: LintAnswer }) {
  const outcome = useSignal<{ readonly text: string; readonly isWrong: boolean } | undefined>(undefined);
  const isBusy = useSignal(false);
  const isWrong = problems.some(({ severity }) => severity === "error");
  const objects = documents.flatMap(({ object }) => (object === undefined ? [] : [object]));
  const reason =
    obstacle() ?? (isWrong ? "Correct the errors first" : objects.length === 0 ? "There is no document" : undefined);
  const send = async (isDryRun: boolean): Promise<void> => {
    isBusy.value = true;
    try {
      const created = await create(objects, isDryRun);
      const names = created.map(({ kind, name }) => `${kind.kind} ${name}`).join(", ");
      outcome.value = {
        text: isDryRun ? `The server accepts ${names}. Nothing is stored.` : `Created ${names}.`,
        isWrong: false,
      };
      confirmAloud(outcome.value.text);
      if (!isDryRun) leave(created);
    } catch (thrown) {
      const text = thrown instanceof Error ? thrown.message : String(thrown);
      outcome.value = { text: thrown instanceof RequestFailure ? `${thrown.reason}: ${text}` : text, isWrong: true };
    }
    isBusy.value = false;
  };
  /** To the run, if one was started, or else to the first object. */
  const leave = (created: Awaited<ReturnType<typeof create>>): void => {
    const at = documents.filter(({ object }) => object !== undefined).findIndex(({ graph }) => graph !== undefined);
    const made = created[Math.max(0, at)];
    if (made === undefined) return;
    const dialect = documents.filter(({ object }) => object !== undefined)[at]?.dialect;
    if (at < 0 || dialect === undefined) navigate(resourcePath(made.kind, made.namespace, made.name));
    else navigate(runPath({ dialect, namespace: made.namespace ?? "", name: made.name }));
  };
  return (
    <>
      <Problems problems={problems} />
      {documents.map((document, index) => (
        <Preview key={index} document={document} />
      ))}
      <p class="buttons">
        <button type="button" disabled={reason !== undefined || isBusy.value} onClick={() => void send(true)}>
          Dry run
        </button>
        <button
          type="button"
          class="primary"
          disabled={reason !== undefined || isBusy.value}
          onClick={() => void send(false)}
        >
          {documents.some(({ graph }) => graph !== undefined) ? "Start" : "Create"}
        </button>
        {reason !== undefined && <span class="muted">{reason}</span>}
      </p>
      {outcome.value !== undefined && (
        <p role="status" class={outcome.value.isWrong ? "reason wrong" : "reason"}>
          {outcome.value.isWrong && <strong>The server refuses this. </strong>}
          {outcome.value.text}
        </p>
      )}
    </>
  );
}

/** Moves the caret of the text that was checked. */
function goTo(line: number, column: number): void {
  const field = document.querySelector<HTMLTextAreaElement>("#document");
  if (field === null) return;
  const lines = field.value.split("\n");
  const at = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
  field.focus();
  field.setSelectionRange(at, at);
  field.scrollTop = (field.scrollHeight / lines.length) * Math.max(0, line - 4);
}

const mostShown = 200;

function Problems({ problems }: Pick<LintAnswer, "problems">) {
  const count = problems.filter(({ severity }) => severity === "error").length;
  const others = problems.length - count;
  return (
    <div role="status">
      <h2>
        {count} {count === 1 ? "error" : "errors"}, {others} {others === 1 ? "warning" : "warnings"}
      </h2>
      <ul class="problems">
        {problems.slice(0, mostShown).map(({ severity, position, path, message, hint }, index) => (
          <li key={index} class={`is-${severity}`}>
            <strong>{severity}</strong>{" "}
            {position !== undefined && (
              <button type="button" class="link" onClick={() => goTo(position.line, position.column)}>
                line {position.line}, column {position.column}
              </button>
            )}{" "}
            {path !== "" && <code>{path}: </code>}
            {message}
            {hint !== undefined && <span class="muted"> {hint}</span>}
          </li>
        ))}
      </ul>
      {problems.length > mostShown && <p class="muted">The first {mostShown} are shown.</p>}
    </div>
  );
}

/** The steps by rank: what can run at the same time stands side by side. */
function Preview({ document: { object, graph } }: { readonly document: LintedDocument }) {
  if (object === undefined && graph === undefined) return null;
  const name = textAt(object, "metadata", "name") ?? textAt(object, "metadata", "generateName") ?? graph?.name ?? "";
  const nodes = graph?.nodes ?? [];
  const ranks = [...new Set(nodes.map(({ rank }) => rank))].sort((a, b) => a - b);
  return (
    <section aria-label={`${textAt(object, "kind") ?? "Run"} ${name}`}>
      <h3 class="wrap">
        {textAt(object, "kind") ?? "Run"} <span class="mono">{name}</span>
        {nodes.length > 0 && <span class="muted"> {nodes.length} steps</span>}
      </h3>
      {graph !== undefined && nodes.length === 0 && (
        <p class="muted">Its steps come from another object; they are known when the run starts.</p>
      )}
      {nodes.length > 0 && (
        <ol class="ranks" aria-label="Steps, in the order in which they can run">
          {ranks.map((rank) => (
            <li key={rank}>
              {nodes
                .filter((node) => node.rank === rank)
                .slice(0, 50)
                .map(({ id, name: step, final, forEach, condition }) => (
                  <span key={id} class="tag" title={condition === undefined ? undefined : `only if ${condition}`}>
                    {step}
                    {forEach !== undefined && ` × ${forEach}`}
                    {final && " (final)"}
                    {condition !== undefined && " ?"}
                  </span>
                ))}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
