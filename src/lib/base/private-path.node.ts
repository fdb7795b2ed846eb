import { stat } from "node:fs/promises";
import { SlipwayError } from "./errors.ts";

/**
 * ssh's rule: a secret that others can use is not used. Making it private now would hide that it may be known already, and whoever owns a
 * file or directory can open it again. Rejects with `insecure-permissions`, and with what the system says of a path that is not there.
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
