import { useSignal } from "@preact/signals";
import type { ObjectRef } from "#engine/index.ts";
import type { RunPage } from "#app/ui/wire.ts";
import { requestJson } from "../data/api.ts";
import { keyOf, runPath, textOfRef } from "../data/refs.ts";
import { href, navigate } from "../data/router.ts";
import type { RunModel } from "../data/run.ts";
import { formatSpan, now } from "../data/time.ts";
import { Actions } from "../parts/actions.tsx";
import { Phase } from "../parts/phase.tsx";
import { Span, Time } from "../parts/time.tsx";

export function RunHeader({ model }: { readonly model: RunModel }) {
  const head = model.head.value;
  if (head === undefined) return null;
  const { view, summary } = head;
  return (
    <header class="run-header">
      <p class="crumbs">
        <a href={href("/runs")}>Runs</a>
        <span aria-hidden="true"> / </span>
        <a href={href(`/runs?filter=dialect:${view.dialect}`)}>{view.dialect}</a>
        <span aria-hidden="true"> / </span>
        {view.ref.namespace ?? ""}
      </p>
      <div class="run-title">
        <h1 tabIndex={-1}>
          {view.name}
          {view.number !== undefined && view.number > 1 && <span class="muted"> #{view.number}</span>}
        </h1>
        <Phase phase={view.phase} native={view.nativePhase} />
        <div class="run-actions">
          <Actions target={view.ref} actions={model.isDeleted.value ? [] : view.actions} />
        </div>
      </div>
      {model.isDeleted.value && <p class="note">This run has been deleted. What you see is its last state.</p>}
      <Message reason={view.reason} message={view.message} />
      <dl class="facts inline">
        <Fact name="Progress">
          <span class="number">
            {view.progress.done}/{view.progress.total}
          </span>
        </Fact>
        <Fact name="Started">
          <Time at={view.startedAt} />
        </Fact>
        <Fact name="Duration">
          <Span from={view.startedAt} to={view.finishedAt} />
        </Fact>
        {view.deadlineAt !== undefined && view.finishedAt === undefined && (
          <Fact name="Deadline">
            {view.deadlineAt > now.value ? `in ${formatSpan(view.deadlineAt - now.value)}` : "passed"}
          </Fact>
        )}
        {summary.source !== undefined && (
          <Fact name={summary.source.kind}>
            <a
              href={href(`/runs?filter=${encodeURIComponent(`source:${summary.source.kind}/${summary.source.name}`)}`)}
            >
              {summary.source.name}
            </a>
          </Fact>
        )}
        {view.parent !== undefined && (
          <Fact name="Started by">
            <RunLink to={view.parent} />
          </Fact>
        )}
      </dl>
    </header>
  );
}

const Fact = ({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

export function Message({
  reason,
  message,
}: {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}) {
  if (reason === undefined && message === undefined) return null;
  return (
    <p class="reason">
      {reason !== undefined && <strong>{reason}</strong>} {message}
    </p>
  );
}

/** An object that may be a run: which page it has, the list knows. */
export function RunLink({ to }: { readonly to: ObjectRef }) {
  const note = useSignal("");
  const open = async (): Promise<void> => {
    const query = { text: to.name, namespace: to.namespace, limit: "100" };
    const { items } = await requestJson<RunPage>("GET", "/runs", { query });
    const found = items.find(({ ref }) => ref.kind === to.kind && ref.name === to.name);
    if (found === undefined) note.value = " is not a run, or has been deleted";
    else navigate(runPath(keyOf(found)));
  };
  return (
    <span>
      <button type="button" class="link" onClick={() => void open().catch(() => undefined)}>
        {textOfRef(to)}
      </button>
      {note.value}
    </span>
  );
}
