import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { RunPage } from "#app/ui/wire.ts";
import { requestJson } from "../data/api.ts";
import { type PaletteEntry, pageEntries } from "../data/page.ts";
import { keyOf, runPath } from "../data/refs.ts";
import { navigate } from "../data/router.ts";
import { clock } from "../data/time.ts";
import { routes } from "../views/routes.ts";
import { Dialog } from "./dialog.tsx";

const pages: readonly PaletteEntry[] = routes.flatMap(({ nav }) =>
  nav === undefined ? [] : [{ label: `Go to ${nav.label}`, hint: "page", run: () => navigate(nav.path) }],
);

const mostFound = 20;

/** All words of the text occur, in any order. */
const fits = (entry: PaletteEntry, text: string): boolean =>
  text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => entry.label.toLowerCase().includes(word));

/** Asks the server for runs once the person stops typing. */
function useFoundRuns(text: string): readonly PaletteEntry[] {
  const found = useSignal<{ readonly of: string; readonly entries: readonly PaletteEntry[] }>({ of: "", entries: [] });
  useEffect(() => {
    const abort = new AbortController();
    const cancel = clock.after(text === "" ? 0 : 150, () => {
      requestJson<RunPage>("GET", "/runs", { query: { text, limit: String(mostFound) }, signal: abort.signal }).then(
        ({ items }) => {
          const entries = items.map((run) => ({
            label: `${run.ref.namespace ?? ""}/${run.name}`,
            hint: `${run.dialect}, ${run.phase}`,
            run: () => navigate(runPath(keyOf(run))),
          }));
          found.value = { of: text, entries };
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
  // Until the answer comes, what is left of the one before.
  return of === text ? entries : entries.filter((entry) => fits(entry, text));
}

/** Goes to any page or run, and does whatever the page can do. */
export function Palette({ extra, onClose }: { readonly extra: readonly PaletteEntry[]; readonly onClose: () => void }) {
  const text = useSignal("");
  const at = useSignal(0);
  const runs = useFoundRuns(text.value);
  const entries = [...[...pageEntries.value, ...extra, ...pages].filter((entry) => fits(entry, text.value)), ...runs];
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
        aria-label="Go to a page or run, or do something"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={entries.length > 0 ? `palette-${current}` : undefined}
        placeholder="Page, run or action"
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
            key={`${entry.label} ${entry.hint ?? ""}`}
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
      {entries.length === 0 && <p class="muted">Nothing is called that.</p>}
    </Dialog>
  );
}
