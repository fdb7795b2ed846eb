/** Resolves when `holds` does, looking once per turn of the event loop; rejects after many turns. For conditions without an event. */
export async function waitUntil(holds: () => boolean | Promise<boolean>, turns = 20_000): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    if (await holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error("the condition did not come true");
}
