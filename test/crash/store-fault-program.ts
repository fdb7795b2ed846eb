import { writeFileSync, writeSync } from "node:fs";
import { FakeClock } from "../../src/lib/base/index.ts";
import { openStore } from "../../src/kernel/apiserver/store/open.ts";

// Writes to a store whose disk breaks at a known moment. Usage: DIRECTORY flush|write. Says on stdout, as JSON, what a caller
// and a reader saw. It runs under Node's default treatment of unhandled rejections: one of the library's would end it.

const [, , directory = "", fault = ""] = process.argv;
const faultFile = process.env["FAULT"] ?? "";
const clock = new FakeClock();
const fatal: Error[] = [];

const store = await openStore(directory, { clock, onFatal: (error) => void fatal.push(error) });
const key = { group: "crash.slipway.dev", resource: "items", namespace: "default", name: "a" };
/**
 * Two are more than the room that the store has set aside at any time, so that a full disk is met at once. A flush is to fail when
 * the batch is in the log already, not when room is made for it.
 */
const lost = fault === "write" ? 1_200_000 : 3_000;
const put = (value: number, length = 3_000): Promise<string> => {
  const metadata = { name: "a", namespace: "default", uid: "uid-a", creationTimestamp: "2026-01-01T00:00:00Z" };
  const object = {
    apiVersion: "crash.slipway.dev/v1",
    kind: "Item",
    metadata,
    spec: { value, fill: "x".repeat(length) },
  };
  return store.write((transaction) => transaction.put(key, object).revision).then(String, codeOf);
};
const codeOf = (thrown: unknown): string => (thrown instanceof Error && "code" in thrown ? String(thrown.code) : "?");
const look = (): unknown => ({
  revision: store.revision,
  stored: store.get(key)?.revision,
  failure: store.failure === undefined ? undefined : codeOf(store.failure),
  isFatal: fatal.length > 0,
});

const healthy = await put(1);
writeFileSync(faultFile, fault);
const broken = await Promise.all([put(2, lost), put(3, lost)]);
const during = { broken, next: await put(4), ...(look() as object) };
await clock.advance(5_000);
const probed = look();
writeFileSync(faultFile, "");
await clock.advance(5_000);
// The probe's commit is real, so wait for it as long as it may take; whoever started this program ends it when it hangs.
while (store.failure !== undefined && fatal.length === 0) {
  await clock.advance(5_000);
  await new Promise((resolve) => setTimeout(resolve, 5));
}
const after = { next: await put(5), ...(look() as object) };
await store.close();
writeSync(1, JSON.stringify({ healthy, during, probed, after }));
