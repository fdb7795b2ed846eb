import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { BuildStores } from "./build-stores.ts";
import { readOutputs } from "./build-outputs.ts";

test("outputs are lines with a name, of which the last one holds", () => {
  const text = "image=a:1\r\n# comment\n\nno line\nempty=\nimage=b:2=x\n9=no\n= no\nlast = kept not";
  expect(Object.fromEntries(readOutputs(text))).toEqual({ image: "b:2=x", empty: "" });
});

test("a build has the outputs of all of its files, later ones win, and what is too much is left out", async () => {
  const directory = await mkdtemp(join(tmpdir(), "slipway-outputs-"));
  const stores = new BuildStores({ directory, clock: systemClock, log: silentLog });
  try {
    const { artifacts } = await stores.open();
    const add = async (name: string, text: string) =>
      await artifacts.add(
        7,
        { name },
        (async function* () {
          yield Buffer.from(text);
        })(),
      );
    expect(await stores.settled(7)).toEqual({ logs: { lines: 0, bytes: 0 } });
    await add("outputs.env", "image=a:1\nkept=yes\n");
    await add("other.env", "image=no\n");
    expect(await stores.settled(7)).not.toHaveProperty("message");
    await add("sub/outputs.env", `image=a:2\nlong=${"x".repeat(17_000)}\n`);
    expect(await stores.settled(7)).toMatchObject({ outputs: { image: "a:2", kept: "yes" } });
    expect((await stores.settled(7)).outputs).not.toHaveProperty("long");
    expect((await stores.settled(7)).message).toMatch(
      /^outputs: kept at most 100 of 16384 characters together, not long$/,
    );
  } finally {
    await stores.close();
    await rm(directory, { recursive: true, force: true });
  }
});
