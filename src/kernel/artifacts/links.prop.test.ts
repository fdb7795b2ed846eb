import { mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { codeOf } from "#lib/base/index.ts";
import { staysInside } from "./links.ts";

// The system is asked where links really lead, alone and through each other.

const directories = ["", "a", "a/b", "c"];
const part = fc.constantFrom("..", ".", "a", "b", "c", "l0", "l1", "l2", "l3");
const anyTarget = fc
  .tuple(fc.constantFrom("", "", "", "/"), fc.array(part, { minLength: 1, maxLength: 5 }))
  .map(([start, parts]) => start + parts.join("/"));
/** Upwards by way of another link, which leads elsewhere than its words say: what chance seldom brings together. */
const slyTarget = fc.constantFrom("..", "../..", "l0/..", "l0/../a", "l1/../a", "b/../../c", "../l0/../c");
const target = fc.oneof(anyTarget, slyTarget);
const links = fc.uniqueArray(
  fc.record({ directory: fc.constantFrom(...directories), name: fc.constantFrom("l0", "l1", "l2", "l3"), target }),
  { selector: ({ directory, name }) => `${directory}/${name}`, minLength: 1, maxLength: 8 },
);

test("no chain of links that stay inside leads out", async () => {
  const home = await mkdtemp(join(tmpdir(), "slipway-links-"));
  // Outside there are directories of the same names, so that a link that leads out finds something there.
  await mkdir(join(home, "a/b"), { recursive: true });
  await mkdir(join(home, "c"));
  let count = 0;
  let followed = 0;
  await fc.assert(
    fc.asyncProperty(links, async (all) => {
      const root = join(home, `tree-${count++}`);
      for (const directory of directories) await mkdir(join(root, directory), { recursive: true });
      const top = await realpath(root);
      const made = all
        .map(({ directory, name, ...link }) => ({ ...link, path: join(directory, name) }))
        .filter((link) => staysInside(link.path, link.target));
      for (const link of made) await symlink(link.target, join(root, link.path));
      for (const { path } of made) {
        const real = await realpath(join(root, path)).catch((thrown: unknown) => {
          expect(["ENOENT", "ELOOP", "ENOTDIR"]).toContain(codeOf(thrown));
        });
        if (real === undefined) continue;
        followed++;
        expect(real === top || real.startsWith(top + sep), `${path} leads to ${real}`).toBe(true);
      }
    }),
    { numRuns: 300 },
  );
  expect(followed).toBeGreaterThan(50);
  await rm(home, { recursive: true, force: true });
});

test("what stays inside by its words is let through", () => {
  expect(staysInside("a/b/l", "../../c/d")).toBe(true);
  expect(staysInside("l", "./a//b")).toBe(true);
  expect(staysInside("l", "a/..")).toBe(false);
  expect(staysInside("l", "..")).toBe(false);
  expect(staysInside("a/l", "..")).toBe(true);
});
