import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { isJsonObject, textAt } from "#lib/base/index.ts";
import type { FleetEntry, StreamLine } from "#app/ui/wire.ts";
import { inFrame } from "../data/frame.ts";
import { runPath } from "../data/refs.ts";
import { href } from "../data/router.ts";
import { stream } from "../data/server.ts";
import { wordsOf } from "../data/words.ts";
import { useOffer } from "../parts/hooks.ts";
import { Empty, Failure, Loading } from "../parts/states.tsx";
import { middle, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import type { Load } from "../data/runs.ts";

const keyText = ({ kind, ref }: FleetEntry): string => [kind, ref.kind, ref.namespace, ref.name].join(" ");

const byName = (entries: readonly FleetEntry[]): ReadonlyMap<string, FleetEntry> =>
  new Map(entries.map((entry) => [keyText(entry), entry]));

/** Kept for the next visit, and read again then. */
const fleet = signal<ReadonlyMap<string, FleetEntry>>(new Map());

function take({ type, object }: StreamLine): void {
  if (type === "BOOKMARK") fleet.value = byName(object as readonly FleetEntry[]);
  if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED") return;
  const entry = object as FleetEntry;
  const next = new Map(fleet.peek());
  if (type === "DELETED") next.delete(keyText(entry));
  else next.set(keyText(entry), entry);
  fleet.value = next;
}

function useFleet(): readonly [Load, () => void] {
  const load = useSignal<Load>({ is: "loading" });
  const tries = useSignal(0);
  useEffect(() => {
    const handle = stream.subscribe({ what: "fleet", params: {} }, (line) =>
      inFrame(() => {
        take(line);
        if (line.type === "BOOKMARK") load.value = { is: "ready" };
        if (line.type === "ERROR") load.value = { is: "failed", thrown: failureIn(line) };
      }),
    );
    return () => handle.close();
  }, [tries.value]);
  const again = (): void => {
    load.value = { is: "loading" };
    tries.value += 1;
  };
  return [load.value, again];
}

const failureIn = ({ object }: StreamLine): Error =>
  new Error(textAt(isJsonObject(object) ? object : undefined, "message") ?? "the server cannot follow the fleet");

/** Agents and machines, live. A machine's run is its task list. */
export function View() {
  useOffer({ title: "Fleet", command: "slipway status" });
  const text = useSignal("");
  const [load, again] = useFleet();
  const fits = wordsOf(text.value);
  const shown = [...fleet.value.values()].filter(({ name, state, task = "", dialect }) =>
    fits(`${name} ${state} ${task} ${dialect}`),
  );
  return (
    <div class="page-column is-scrolled">
      <h1 tabIndex={-1}>Fleet</h1>
      {load.is === "loading" && fleet.value.size === 0 && <Loading what="the fleet" />}
      {load.is === "failed" && <Failure thrown={load.thrown} onRetry={again} />}
      {load.is === "ready" && fleet.value.size === 0 && (
        <Empty
          title="No machines and no agents"
          commands={["slipway agent --help", "kubectl get agents.slipway.dev", "slipway get machines -A"]}
        >
          <p>
            An agent appears here when it first connects, a machine when it is created. These commands start and list
            them:
          </p>
        </Empty>
      )}
      {fleet.value.size > 0 && (
        <>
          <div class="filter" role="search">
            <input
              type="search"
              aria-label="Filter the fleet"
              placeholder="Name, state or task"
              onInput={(event) => {
                text.value = event.currentTarget.value;
              }}
            />
            <span class="muted" role="status">
              {shown.length} of {fleet.value.size}
            </span>
          </div>
          <Entries title="Machines" entries={shown.filter(({ kind }) => kind === "machine")} />
          <Entries title="Agents" entries={shown.filter(({ kind }) => kind === "agent")} />
        </>
      )}
    </div>
  );
}

const mostShown = 500;
const columns = [{ id: "Name" }, { id: "State" }, { id: "Task" }, middle("Last seen")];

function Entries({ title, entries }: { readonly title: string; readonly entries: readonly FleetEntry[] }) {
  if (entries.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>
        {title} <span class="muted number">{entries.length}</span>
      </h2>
      <Table label={`List of ${title.toLowerCase()}`} columns={columns}>
        {entries.slice(0, mostShown).map((entry) => (
          <tr key={keyText(entry)}>
            <td class="cell">
              <FleetName entry={entry} />
            </td>
            <td class="cell">{entry.state}</td>
            <td class="cell">{entry.task ?? <span class="muted">-</span>}</td>
            <td class="from-middle">
              <Time at={entry.lastSeen} />
            </td>
          </tr>
        ))}
      </Table>
      {entries.length > mostShown && <p class="muted">The first {mostShown} are shown. Filter to see others.</p>}
    </section>
  );
}

function FleetName({ entry: { name, dialect, run } }: { readonly entry: FleetEntry }) {
  if (run === undefined) return <span class="mono">{name}</span>;
  return (
    <a class="mono" href={href(runPath({ dialect, namespace: run.namespace ?? "", name: run.name }))}>
      {name}
      <span class="only-heard">: task list</span>
    </a>
  );
}
