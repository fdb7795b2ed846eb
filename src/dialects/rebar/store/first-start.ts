import { isAlreadyExists } from "#kernel/model/index.ts";
import { Preference } from "../kinds.ts";
import { create } from "./changes.ts";
import { keptOf } from "./codec.ts";
import { internal } from "./events.ts";
import type { Parts } from "./parts.ts";
import { Passwords } from "./passwords.ts";
import { emptyPrefs } from "./prefs.ts";

export interface FirstUser {
  readonly name: string;
  readonly password: string;
}

/** Once: a user that was deleted stays so. The preferences come last, as they tell that all is done. */
export async function firstStart(parts: Parts, user: FirstUser | undefined): Promise<void> {
  const { mirror, client, namespace } = parts;
  if (mirror.prefsObject !== undefined) return;
  const by = { by: internal };
  if (mirror.get("profiles", "global") === undefined) {
    await create(parts, "profiles", { Name: "global", Description: "Values for all machines." }, by);
  }
  if (user !== undefined) {
    if (mirror.get("users", user.name) === undefined)
      await create(parts, "users", { Name: user.name, Roles: ["superuser"] }, by);
    await new Passwords(parts).set(user.name, user.password, by);
  }
  try {
    mirror.putPrefs(keptOf(await client.create(Preference, emptyPrefs(namespace))));
  } catch (thrown) {
    if (!isAlreadyExists(thrown)) throw thrown;
  }
}
