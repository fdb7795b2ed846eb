import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { RunPage } from "#app/ui/wire.ts";
import { requestJson } from "../data/api.ts";
import { type PaletteEntry, pageEntries } from "../data/page.ts";
import { keyOf, runPath } from "../data/refs.ts";
import { navigate } from "../data/router.ts";
import { clock } from "../data/time.ts";
import { wordsOf } from "../data/words.ts";
import { routes } from "../views/routes.ts";
import { Dialog } from "./dialog.tsx";

const pages: readonly PaletteEntry[] = routes.flatMap(({ nav }) =>
  nav === undefined ? [] : [{ label: `Go to ${nav.label}`, hint: "page", run: () => navigate(nav.path) }],
);

const mostFound = 20;
const mostKinds = 6;

const fits = (entry: PaletteEntry, text: string): boolean => wordsOf(text)(entry.label);

interface Found {
  readonly of: string;
  readonly entries: readonly PaletteEntry[];
}

/** Asks the server once the person stops typing. Until the answer arrives, the matching part of the previous one. */
function useFound(
  text: string,
  ask: (text: string, signal: AbortSignal) => Promise<readonly PaletteEntry[]>,
): readonly PaletteEntry[] {
  const found = useSignal<Found>({ of: "", entries: [] });
  useEffect(() => {
    const abort = new AbortController();
    const cancel = clock.after(text === "" ? 0 : 150, () => {
      ask(text, abort.signal).then(
        (entries) => {
          if (!abort.signal.aborted) found.value = { of: text, entries };
        },
        () => undefined,
      );
    });
    return () => {
      cancel();
      abort.abort();
    };
  }, [text]);
  const { of, entries } = found.value;
  return of === text ? entries : entries.filter((entry) => fits(entry, text));
}

async function findRuns(text: string, signal: AbortSignal): Promise<readonly PaletteEntry[]> {
  const query = { text, limit: String(mostFound) };
  const { items } = await requestJson<RunPage>("GET", "/runs", { query, signal });
  return items.map((run) => ({
    label: `${run.ref.namespace ?? ""}/${run.name}`,
    hint: `${run.dialect}, ${run.phase}`,
    run: () => navigate(runPath(keyOf(run))),
  }));
}

/** Kinds by a part of their name; after `KIND/`, the objects of that kind. */
async function findObjects(text: string, signal: AbortSignal): Promise<readonly PaletteEntry[]> {
  if (text.trim() === "") return [];
  const { readTable, resourcePath, servedKinds } = await import("../data/kinds.ts");
  const [wanted = "", ...rest] = text.toLowerCase().trim().split("/");
  const listed = (await servedKinds()).filter(({ verbs }) => verbs.includes("list"));
  const named = listed.filter(({ kind, resource }) => [kind.toLowerCase(), resource].includes(wanted));
  if (rest.length > 0) {
    const tables = await Promise.all(
      named.map(async (kind) => ({ kind, rows: (await readTable(kind, { signal })).rows })),
    );
    return tables
      .flatMap(({ kind, rows }) =>
        rows.map(({ namespace, name }) => ({
          label: `${kind.kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`,
          hint: kind.group === "" ? "object" : kind.group,
          run: () => navigate(resourcePath(kind, namespace, name)),
        })),
      )
      .filter(({ label }) => label.toLowerCase().includes(rest.join("/")))
      .slice(0, mostFound);
  }
  return listed
    .filter(({ kind, resource }) => kind.toLowerCase().includes(wanted) || resource.includes(wanted))
    .slice(0, mostKinds)
    .map((kind) => ({
      label: `List ${kind.kind}`,
      hint: kind.group === "" ? "kind" : kind.group,
      run: () => navigate(resourcePath(kind)),
    }));
}

/** Of a run with a thousand steps. */
const mostOwn = 30;

/** Goes to any page, run or object, and does whatever the page can do. */
export function Palette({ extra, onClose }: { readonly extra: readonly PaletteEntry[]; readonly onClose: () => void }) {
  const text = useSignal("");
  const at = useSignal(0);
  const runs = useFound(text.value, findRuns);
  const objects = useFound(text.value, findObjects);
  const offered = pageEntries.value.flat();
  const isAction = ({ hint }: PaletteEntry): boolean => hint === "action";
  const own = [...offered.filter(isAction), ...offered.filter((entry) => !isAction(entry)), ...pages, ...extra].filter(
    (entry) => fits(entry, text.value),
  );
  const entries = [...own.slice(0, mostOwn), ...runs, ...objects];
  const current = Math.min(at.value, Math.max(0, entries.length - 1));
  const choose = (entry: PaletteEntry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    // The dialog gives the focus back first.
    clock.after(0, entry.run);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) at.value = (current + step + entries.length) % Math.max(1, entries.length);
    else if (event.key === "Enter") choose(entries[current]);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    document.getElementById(`palette-${current}`)?.scrollIntoView({ block: "nearest" });
  }, [current]);
  return (
    <Dialog title="Go to or do" class="palette" onClose={onClose}>
      <input
        role="combobox"
        aria-label="Go to a page, run or object, or do something"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={entries.length > 0 ? `palette-${current}` : undefined}
        placeholder="Page, run, step, action, or KIND/NAME"
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = 0;
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="palette-list" role="listbox" aria-label="Found">
        {entries.map((entry, index) => (
          <li
            key={index}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === current}
            onClick={() => choose(entry)}
          >
            <span class="cut">{entry.label}</span>
            <span class="muted">{entry.hint}</span>
          </li>
        ))}
      </ul>
      {entries.length === 0 && <p class="muted">No matches.</p>}
    </Dialog>
  );
}
