// Packages that few commands use, each in a file of its own beside the program: what a command does not use it does not read.
import { build } from "esbuild";

const fileOf = (name) => `apart/${name.replace("@", "").replaceAll("/", "-")}.cjs`;

/** An esbuild plugin that makes a program require these packages from their own files; `from` is how it gets to their folder. */
export const apartModules = (names, from) => ({
  name: "apart-modules",
  setup: (program) =>
    program.onResolve({ filter: new RegExp(`^(?:${names.join("|")})$`) }, ({ path }) => ({
      path: `${from}/${fileOf(path)}`,
      external: true,
    })),
});

/** Builds those files. */
export const buildApart = (names, options, dist) =>
  names.map((name) =>
    build({
      ...options,
      stdin: { contents: `module.exports = require(${JSON.stringify(name)});`, resolveDir: options.absWorkingDir },
      format: "cjs",
      outfile: `${dist}/${fileOf(name)}`,
    }),
  );
