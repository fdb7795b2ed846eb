import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The CUE files that come with the dialect, by their paths without `.cue`. */
export interface CueSources {
  /** `vela/op` */
  readonly packages: Readonly<Record<string, string>>;
  /** `component/webservice` */
  readonly definitions: Readonly<Record<string, string>>;
}

/** The file beside a bundle that holds them all (scripts/build.mjs). */
const bundled = join(import.meta.dirname, "vela-cue.json");

let sources: Promise<CueSources> | undefined;

/** Read once, when they are first asked for. */
export const cueSources = (): Promise<CueSources> =>
  (sources ??= readSources().catch((thrown: unknown) => {
    sources = undefined;
    throw thrown;
  }));

async function readSources(): Promise<CueSources> {
  const text = await readFile(bundled, "utf8").catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return undefined;
    throw thrown;
  });
  if (text !== undefined) return JSON.parse(text) as CueSources;
  const [packages, definitions] = await Promise.all([
    readTree(join(import.meta.dirname, "packages")),
    readTree(join(import.meta.dirname, "definitions/shipped")),
  ]);
  return { packages, definitions };
}

async function readTree(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".cue")).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return Object.fromEntries(names.map((name, index) => [name.slice(0, -".cue".length), texts[index] ?? ""]));
}
