import { union } from "./field-set.ts";
import { isSameManager, type Manager, type ManagerId, secondsOf } from "./managers.ts";

/** More updaters than this are put together, the oldest first. Appliers are never: what they declared must stay known. */
export const maxUpdaters = 10;
/** The manager that owns what forgotten updaters wrote. */
export const ancientChanges = "ancient-changes";

/**
 * Keeps the number of Update entries at most `maxUpdaters`: the oldest of one apiVersion become one entry. Versions are kept apart, so
 * that more than `maxUpdaters` versions leave more entries.
 */
export function capUpdaters(managers: readonly Manager[]): readonly Manager[] {
  const updaters = managers.filter(({ operation }) => operation === "Update");
  if (updaters.length <= maxUpdaters) return managers;
  const byAge = [...updaters].sort((a, b) => secondsOf(a) - secondsOf(b) || compareNames(a, b));
  const kept = new Set(managers);
  const firsts = new Map<string, Manager>();
  const buckets = new Map<string, Manager>();
  for (const manager of managers)
    if (isSameManager(manager, bucketOf(manager))) buckets.set(manager.apiVersion, manager);
  let surplus = updaters.length - maxUpdaters;
  for (const updater of byAge) {
    if (surplus === 0) break;
    const first = firsts.get(updater.apiVersion);
    if (first === undefined) {
      firsts.set(updater.apiVersion, updater);
      continue;
    }
    const found = buckets.get(updater.apiVersion) ?? first;
    const other = found === updater ? first : updater;
    const joined = join(found, other);
    kept.delete(found);
    kept.delete(other);
    kept.add(joined);
    buckets.set(updater.apiVersion, joined);
    surplus--;
  }
  return [...kept];
}

const compareNames = (a: Manager, b: Manager): number => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

const bucketOf = ({ apiVersion }: Manager): ManagerId => ({
  name: ancientChanges,
  operation: "Update",
  apiVersion,
  subresource: "",
});

/** The later one's time, because something of the entry is as young as that. */
function join(found: Manager, other: Manager): Manager {
  const fields = union(found.fields, other.fields);
  const time = secondsOf(other) < secondsOf(found) ? found.time : other.time;
  return { ...bucketOf(found), time, fields };
}
