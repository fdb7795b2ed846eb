import { stat } from "node:fs/promises";
import { SlipwayError } from "./errors.ts";

/**
 * As ssh: a secret that others can access is not used, since it may be known already. Rejects with
 * `insecure-permissions`, or a system error for a missing path.
 */
export async function refuseShared(path: string): Promise<void> {
  const { mode, uid } = await stat(path);
  if (process.getuid !== undefined && uid !== process.getuid()) {
    throw new SlipwayError("insecure-permissions", `${path} belongs to another user (uid ${uid})`, {
      hint: `use a path of your own, or make it yours: chown ${process.getuid()} ${path}`,
    });
  }
  if ((mode & 0o077) === 0) return;
  const shown = (mode & 0o777).toString(8);
  throw new SlipwayError("insecure-permissions", `${path} can be used by other users of this machine (mode ${shown})`, {
    hint: `chmod go= ${path}`,
  });
}
