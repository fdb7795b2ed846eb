import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { ok, systemClock } from "#lib/base/index.ts";
import { KeptObjects } from "../render/charts.ts";
import { clientWith, fakeApp, fakeScope } from "../ops/testing/fake-scope.ts";
import { renderHelm } from "./helm.ts";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readPacked, SizeBudget } from "./tree.ts";

function header(name: string, bytes: number): Buffer {
  const block = Buffer.alloc(512);
  const put = (text: string, at: number) => block.write(text, at, "latin1");
  put(name, 0);
  put("0000644\0" + "0000000\0".repeat(2), 100);
  put(`${bytes.toString(8).padStart(11, "0")}\0`, 124);
  put("00000000000\0", 136);
  put("        0", 148);
  put("ustar\x0000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

const end = Buffer.alloc(1024);

/** A packed archive with one file of zeros. */
const zeros = (name: string, bytes: number): Buffer =>
  gzipSync(Buffer.concat([header(name, bytes), Buffer.alloc(Math.ceil(bytes / 512) * 512), end]));

/** A packed archive with many empty files. */
const empty = (folder: string, count: number): Buffer =>
  gzipSync(Buffer.concat([...Array.from({ length: count }, (_, index) => header(`${folder}/${index}`, 0)), end]));

async function* once(content: Buffer): AsyncGenerator<Buffer, void> {
  yield await Promise.resolve(content);
}

const mib = 2 ** 20;

test("attack: the packed sub-charts of one chart share the limit of a source", async () => {
  const root = mkdtempSync(join(tmpdir(), "slipway-limits-"));
  try {
    mkdirSync(join(root, "charts"));
    writeFileSync(join(root, "Chart.yaml"), "name: a\n");
    for (const name of ["a", "b", "c"]) writeFileSync(join(root, `charts/${name}.tgz`), empty(name, 4_000));
    const answer = await renderHelm({
      templates: { renderChart: () => Promise.resolve(ok({ objects: [], chart: "a" })) },
      directory: join(root, "cache"),
      environment: {},
      localRoots: [root],
    })(
      { source: root },
      Object.assign(fakeScope(fakeApp([]), { clients: { local: clientWith() } }), { clock: systemClock }),
    );
    expect(answer).toEqual({
      kind: "error",
      message: "source: expected at most 10000 files of together 64 MiB",
    });
  } finally {
    rmSync(root, { recursive: true });
  }
});

test("attack: entries of an archive that are not kept count too", async () => {
  const budget = new SizeBudget(mib);
  expect(await readPacked(once(zeros("../outside", 0.75 * mib)), budget)).toEqual(new Map());
  await expect(readPacked(once(zeros("a/inside", 0.75 * mib)), budget)).rejects.toThrow("expected at most 10000 files");
});

test("attack: renderings of charts are kept up to a number of bytes", () => {
  const kept = new KeptObjects(1_000);
  const large = [{ text: "x".repeat(400) }];
  kept.set("a", large);
  kept.set("b", large);
  kept.set("c", large);
  expect(["a", "b", "c"].map((key) => kept.get(key) !== undefined)).toEqual([false, true, true]);
  kept.set("d", [{ text: "x".repeat(2_000) }]);
  expect(["b", "c", "d"].map((key) => kept.get(key) !== undefined)).toEqual([false, false, false]);
  kept.set("e", large);
  expect(kept.get("e")).toBe(large);
});
