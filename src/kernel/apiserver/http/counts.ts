/** What each key has of something. Keys that have nothing are forgotten, so that the map is as large as what is under way. */
export function count(counts: Map<string, number>, key: string, by: number): void {
  const left = (counts.get(key) ?? 0) + by;
  if (left === 0) counts.delete(key);
  else counts.set(key, left);
}
