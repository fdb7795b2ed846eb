import { useSignal } from "@preact/signals";
import type { TargetedSubmitEvent } from "preact";
import { confirmAloud } from "../data/page.ts";
import { href, place } from "../data/router.ts";
import { deleteFilter, longestName, renameFilter, savedFilters, saveFilter, searchOf } from "../data/saved-filters.ts";
import { Dialog } from "./dialog.tsx";

/** Filters of this browser: one opens, saves, renames and deletes them here. */
export function SavedFilters({ onClose }: { readonly onClose: () => void }) {
  const failure = useSignal("");
  const renamed = useSignal<string | undefined>(undefined);
  const present = searchOf(place.value.query);
  const tell = (problem: string | undefined, done: string): void => {
    failure.value = problem ?? "";
    if (problem === undefined) confirmAloud(done);
  };
  const submit = (use: (name: string) => void) => (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = new FormData(event.currentTarget).get("name");
    if (typeof name === "string" && name.trim() !== "") use(name.trim());
  };
  return (
    <Dialog title="Saved filters" onClose={onClose}>
      <h2>Saved filters</h2>
      {present === "?" ? (
        <p class="muted">Filter or sort the list to save how it is shown.</p>
      ) : (
        <form class="buttons" onSubmit={submit((name) => tell(saveFilter(name, present), `Saved ${name}`))}>
          <NameField label="Name of the present filter" initial="" />
          <button type="submit" class="primary">
            Save
          </button>
          <code class="wrap">{textOf(present)}</code>
        </form>
      )}
      {failure.value !== "" && (
        <p class="wrong" role="alert">
          {failure.value}
        </p>
      )}
      <ul class="saved">
        {savedFilters.value.map(({ name, search }) => (
          <li key={name} class="buttons">
            {renamed.value === name ? (
              <form
                class="buttons"
                onSubmit={submit((to) => {
                  renamed.value = undefined;
                  tell(renameFilter(name, to), `Renamed ${name} to ${to}`);
                })}
              >
                <NameField label={`New name of ${name}`} initial={name} />
                <button type="submit">Rename</button>
              </form>
            ) : (
              <>
                <a href={href(`/runs${search}`)} onClick={onClose}>
                  {name}
                </a>
                <code class="wrap muted">{textOf(search)}</code>
                <button
                  type="button"
                  class="quiet"
                  onClick={() => {
                    renamed.value = name;
                  }}
                >
                  Rename<span class="only-heard"> {name}</span>
                </button>
                <button type="button" class="quiet" onClick={() => tell(deleteFilter(name), `Deleted ${name}`)}>
                  Delete<span class="only-heard"> {name}</span>
                </button>
              </>
            )}
          </li>
        ))}
      </ul>
      {savedFilters.value.length === 0 && <p class="muted">None yet. They are kept in this browser.</p>}
      <p class="dialog-buttons">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </p>
    </Dialog>
  );
}

const NameField = ({ label, initial }: { readonly label: string; readonly initial: string }) => (
  <input
    name="name"
    aria-label={label}
    placeholder={label}
    defaultValue={initial}
    maxLength={longestName}
    required
    autoComplete="off"
    ref={(field) => {
      if (initial !== "") field?.focus();
    }}
  />
);

/** As people write it. */
function textOf(search: string): string {
  const query = new URLSearchParams(search);
  const sort = query.get("sort");
  return [query.get("filter"), sort === null ? "" : `sorted by ${sort.replace(/^-/, "")}`].filter(Boolean).join(", ");
}
