import { signal } from "@preact/signals";
import { isJsonObject, textAt } from "#lib/base/index.ts";

/** A list that somebody comes back to. */
export interface SavedFilter {
  readonly name: string;
  /** As in the address, from the question mark: it can be sent to others as well. */
  readonly search: string;
}

const key = "slipway.filters";
export const longestName = 60;
const [mostFilters, longestSearch] = [50, 2000];

/** What this browser keeps, without what does not look like a filter. */
function read(): readonly SavedFilter[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    const items = Array.isArray(found) ? found.filter(isJsonObject) : [];
    return items.slice(0, mostFilters).flatMap((item) => {
      const [name = "", search = ""] = [textAt(item, "name"), textAt(item, "search")];
      const isOne = name !== "" && name.length <= longestName && search.startsWith("?") && search.length <= longestSearch;
      return isOne ? [{ name, search }] : [];
    });
  } catch {
    // Storage that is forbidden or damaged is as good as none.
    return [];
  }
}

export const savedFilters = signal<readonly SavedFilter[]>(read());

/** Changes what is stored now, which another tab may have changed. Returns why not. */
function change(next: (before: readonly SavedFilter[]) => readonly SavedFilter[] | string): string | undefined {
  const changed = next(read());
  if (typeof changed === "string") return changed;
  savedFilters.value = changed;
  try {
    localStorage.setItem(key, JSON.stringify(changed));
  } catch {
    return "This browser does not allow storing filters; it lasts as long as the page.";
  }
  return undefined;
}

/** The newest is first; a name that exists gets the new filter. */
export const saveFilter = (name: string, search: string): string | undefined =>
  change((before) => {
    if (search.length > longestSearch) return "The filter is too long to be saved.";
    const others = before.filter((one) => one.name !== name);
    if (others.length >= mostFilters) return `This browser keeps ${mostFilters} filters. Delete one first.`;
    return [{ name, search }, ...others];
  });

export const renameFilter = (from: string, to: string): string | undefined =>
  change((before) =>
    from !== to && before.some(({ name }) => name === to)
      ? `There is a filter called ${to} already.`
      : before.map((one) => (one.name === from ? { ...one, name: to } : one)),
  );

export const deleteFilter = (name: string): string | undefined =>
  change((before) => before.filter((one) => one.name !== name));

/** The part of the address that a list of runs is made by. */
export function searchOf(query: URLSearchParams): string {
  const kept = new URLSearchParams([...query].filter(([name]) => name === "filter" || name === "sort"));
  return `?${kept.toString()}`;
}
