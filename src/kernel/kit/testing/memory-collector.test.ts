import { expect, test } from "vitest";
import { formatTime } from "#lib/base/index.ts";
import type { OwnerReference, Stored } from "#kernel/model/index.ts";
import { collectorSteps, foregroundFinalizer, orphanFinalizer } from "./memory-collector.ts";

interface Draft {
  /** Uids; a `!` behind one blocks its end. */
  readonly owners?: readonly string[];
  readonly waits?: "foreground" | "orphan" | "other";
  readonly namespace?: string;
}

const finalizers = { foreground: foregroundFinalizer, orphan: orphanFinalizer, other: "slipway.dev/other" } as const;

const object = (uid: string, { owners = [], waits, namespace = "default" }: Draft = {}): Stored => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: uid,
    uid,
    namespace,
    resourceVersion: "1",
    creationTimestamp: formatTime(0),
    ownerReferences: owners.map((owner): OwnerReference => {
      const name = owner.replace("!", "");
      return { apiVersion: "v1", kind: "ConfigMap", name, uid: name, blockOwnerDeletion: owner.endsWith("!") };
    }),
    ...(waits === undefined ? {} : { deletionTimestamp: formatTime(1), finalizers: [finalizers[waits]] }),
  },
});

/** Steps in words: `delete child Background`, `disown child owner`, `release owner orphan`. */
const steps = (all: readonly Stored[], removed: readonly string[] = []): string[] =>
  collectorSteps(all, new Set(removed)).map((step) => {
    const { name } = step.object.metadata;
    if (step.kind === "delete") return `delete ${name} ${step.policy}`;
    return step.kind === "disown" ? `disown ${name} ${[...step.owners].join()}` : `release ${name} ${step.finalizer}`;
  });

test.each<readonly [string, readonly Stored[], readonly string[], readonly string[]]>([
  ["nothing is due where nothing ends", [object("a"), object("b", { owners: ["a!"] })], [], []],
  ["what only a removed object owned goes", [object("b", { owners: ["a"] })], ["a"], ["delete b Background"]],
  ["another owner keeps it", [object("c"), object("b", { owners: ["a", "c"] })], ["a"], ["disown b a"]],
  ["an owner that never was is none", [object("b", { owners: ["x"] })], ["a"], []],
  ["what is going anyway is left alone", [object("b", { owners: ["a"], waits: "other" })], ["a"], []],
  ["an orphan is let go", [object("a", { waits: "orphan" }), object("b", { owners: ["a"] })], [], ["disown b a"]],
  ["who has let everybody go may go", [object("a", { waits: "orphan" })], [], ["release a orphan"]],
  [
    "in the foreground dependants go first",
    [object("a", { waits: "foreground" }), object("b", { owners: ["a!"] })],
    [],
    ["delete b Background"],
  ],
  [
    "those with dependants of their own in the foreground too",
    [object("a", { waits: "foreground" }), object("b", { owners: ["a!"] }), object("c", { owners: ["b!"] })],
    [],
    ["delete b Foreground"],
  ],
  [
    "a dependant that blocks holds its owner while it ends",
    [object("a", { waits: "foreground" }), object("b", { owners: ["a!"], waits: "other" })],
    [],
    [],
  ],
  [
    "one that does not block does not",
    [object("a", { waits: "foreground" }), object("b", { owners: ["a"], waits: "other" })],
    [],
    ["release a foregroundDeletion"],
  ],
  [
    "a dependant with an owner that stays is kept by it",
    [object("a", { waits: "foreground" }), object("c"), object("b", { owners: ["a!", "c!"] })],
    [],
    ["disown b a"],
  ],
  [
    "objects of another namespace hold up nobody",
    [object("a", { waits: "foreground" }), object("b", { owners: ["a!"], namespace: "other" })],
    [],
    ["release a foregroundDeletion"],
  ],
  [
    "a ring that waits for itself is let go",
    [object("a", { waits: "foreground", owners: ["b!"] }), object("b", { waits: "foreground", owners: ["a!"] })],
    [],
    ["release a foregroundDeletion", "release b foregroundDeletion"],
  ],
])("%s", (_name, all, removed, expected) => {
  expect(steps(all, removed)).toEqual(expected);
});
