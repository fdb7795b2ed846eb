import { useSignal } from "@preact/signals";
import type { ObjectRef } from "#engine/index.ts";
import type { RunPage, RunSummary } from "#app/ui/wire.ts";
import { requestJson } from "../data/api.ts";
import { confirm } from "../data/page.ts";
import { againPath, comparePath, keyOf, objectPagePath, type RunKey, runPath, sourcePath } from "../data/refs.ts";
import { href, navigate, setQuery } from "../data/router.ts";
import type { RunModel } from "../data/run.ts";
import { obstacle } from "../data/server.ts";
import { now } from "../data/time.ts";
import { Actions } from "../parts/actions.tsx";
import { usePaletteEntries } from "../parts/hooks.ts";
import { Phase } from "../parts/phase.tsx";
import { Span, Time } from "../parts/time.tsx";
import { lazy } from "./lazy.tsx";

export function RunHeader({ model }: { readonly model: RunModel }) {
  const head = model.head.value;
  if (head === undefined) return null;
  const { view, summary } = head;
  const { source } = summary;
  // An application is its own source, and has no other runs.
  const hasOthers = source !== undefined && (source.kind !== view.ref.kind || source.name !== view.ref.name);
  return (
    <header class="run-header">
      <div class="crumbs-line">
        <p class="crumbs">
          <a href={href("/runs")}>Runs</a>
          <span aria-hidden="true"> / </span>
          <a href={href(`/runs?filter=dialect:${view.dialect}`)}>{view.dialect}</a>
          <span aria-hidden="true"> / </span>
          <a href={href(`/runs?filter=ns:${view.ref.namespace ?? ""}`)}>{view.ref.namespace ?? ""}</a>
          {source !== undefined && (
            <>
              <span aria-hidden="true"> / </span>
              <a
                href={href(sourcePath({ ...model.key, ...source }))}
                title={`The grid of ${source.kind} ${source.name}`}
              >
                {source.name}
              </a>
            </>
          )}
        </p>
        {hasOthers && (
          <p class="neighbours">
            <button type="button" class="quiet" title="Key [" onClick={() => void goToNeighbour(model, 1)}>
              ‹ Previous
            </button>
            <button type="button" class="quiet" title="Key ]" onClick={() => void goToNeighbour(model, -1)}>
              Next ›
            </button>
            <button type="button" class="quiet" title="Key c" onClick={() => void compareWithPrevious(model)}>
              Compare
            </button>
          </p>
        )}
      </div>
      <div class="run-title">
        <h1 tabIndex={-1}>
          {view.title ?? view.name}
          {view.number !== undefined && view.number > 1 && <span class="muted"> #{view.number}</span>}
        </h1>
        {view.title !== undefined && <span class="muted mono">{view.name}</span>}
        <Phase phase={view.phase} native={view.nativePhase} />
        <div class="run-actions">
          <Actions target={view.ref} actions={model.isDeleted.value ? [] : view.actions} />
          {head.canRunAgain && (
            <button type="button" onClick={() => navigate(againPath(model.key))}>
              Run again
            </button>
          )}
          <DeleteButton run={summary} isDeleted={model.isDeleted.value} />
        </div>
      </div>
      {model.isDeleted.value && (
        <p class="note">
          This run has been deleted. What you see is its last state. <a href={href("/runs")}>All runs</a>
        </p>
      )}
      <Message phase={view.phase} reason={view.reason} message={view.message} />
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
            <Deadline at={view.deadlineAt} from={view.startedAt ?? view.createdAt} />
          </Fact>
        )}
        {view.parent !== undefined && (
          <Fact name="Started by">
            <ObjectLink to={view.parent} />
          </Fact>
        )}
        {view.children.length > 0 && (
          <Fact name="Created">
            <button type="button" class="link" onClick={() => setQuery({ step: "", tab: "" })}>
              {view.children.length} {view.children.length === 1 ? "object" : "objects"}
            </button>
          </Fact>
        )}
      </dl>
    </header>
  );
}

const Bulk = lazy(async () => (await import("../parts/bulk.tsx")).Bulk);

/** Its dialog stays when the run goes, to say so. */
function DeleteButton({ run, isDeleted }: { readonly run: RunSummary; readonly isDeleted: boolean }) {
  const isAsked = useSignal(false);
  const reason = obstacle();
  const set = (value: boolean) => (): void => {
    isAsked.value = value;
  };
  usePaletteEntries(isDeleted ? [] : [{ label: `Delete ${run.name}`, hint: "action", run: set(true) }]);
  return (
    <>
      {!isDeleted && (
        <button type="button" class="dangerous" disabled={reason !== undefined} title={reason} onClick={set(true)}>
          Delete<span class="only-heard"> {run.name}</span>
        </button>
      )}
      {isAsked.value && <Bulk action="delete" runs={[run]} onDone={() => undefined} onClose={set(false)} />}
    </>
  );
}

/** When less than this share of the allowed time is left, the countdown is marked. */
const scarce = 0.1;

/** Counts down. */
function Deadline({ at, from }: { readonly at: number; readonly from: number }) {
  const left = at - now.value;
  if (left <= 0) return <span class="wrong">passed</span>;
  return (
    <span class={left < (at - from) * scarce ? "number wrong" : "number"}>
      in <Span from={0} to={left} />
    </span>
  );
}

const Fact = ({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

interface MessageProps {
  readonly phase?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

export function Message({ phase, reason, message }: MessageProps) {
  if (reason === undefined && message === undefined) return null;
  return (
    <p class={phase === "Failed" ? "reason is-failed" : "reason"}>
      {reason !== undefined && <strong>{reason} </strong>}
      {message}
    </p>
  );
}

/** The page of an object: of its steps if it is a run, which the list knows, or else of its fields. */
export function ObjectLink({ to }: { readonly to: ObjectRef }) {
  const isBusy = useSignal(false);
  const open = async (): Promise<void> => {
    isBusy.value = true;
    const query = { text: to.name, namespace: to.namespace, limit: "100" };
    const page = await requestJson<RunPage>("GET", "/runs", { query }).catch(() => undefined);
    const found = page?.items.find(({ ref }) => ref.kind === to.kind && ref.name === to.name);
    isBusy.value = false;
    navigate(found === undefined ? objectPagePath(to) : runPath(keyOf(found)));
  };
  const onClick = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    void open();
  };
  return (
    <a href={href(objectPagePath(to))} aria-busy={isBusy.value} onClick={onClick}>
      {to.kind} {to.name}
    </a>
  );
}

/** How many of a source's runs are looked through. */
const mostRuns = 500;

/** The run of the same source that is `by` places older; undefined if there is none. Says why. */
async function neighbourOf(model: RunModel, by: number): Promise<RunKey | undefined> {
  const source = model.head.peek()?.summary.source;
  if (source === undefined) {
    confirm("This run has no source");
    return undefined;
  }
  const { namespace, dialect } = model.key;
  const query = { source: `${source.kind}/${source.name}`, namespace, dialect, limit: String(mostRuns) };
  const { items } = await requestJson<RunPage>("GET", "/runs", { query });
  const at = items.findIndex(({ ref }) => ref.name === model.key.name);
  const found = at < 0 ? undefined : items[at + by];
  if (found === undefined) confirm(`This is the ${by > 0 ? "first" : "last"} run of ${source.kind} ${source.name}`);
  return found === undefined ? undefined : keyOf(found);
}

/** Keeps what is selected: the same step of another run is what one wants to see. */
export async function goToNeighbour(model: RunModel, by: number): Promise<void> {
  const found = await neighbourOf(model, by).catch(() => undefined);
  if (found !== undefined) navigate(runPath(found) + location.search);
}

export async function compareWithPrevious(model: RunModel): Promise<void> {
  const found = await neighbourOf(model, 1).catch(() => undefined);
  if (found !== undefined) navigate(comparePath(model.key, found.name));
}
