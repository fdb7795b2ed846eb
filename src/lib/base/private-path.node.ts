import { stat } from "node:fs/promises";
import { SlipwayError } from "./errors.ts";

/** As ssh, refuses a secret that others can access (`insecure-permissions`). A missing path is a system error. */
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
