import { isJsonObject } from "#lib/base/index.ts";
import { Refused, refusal } from "../failure.ts";
import { defaultNamespace, Preference } from "../kinds.ts";
import type { Prefs } from "../objects.ts";
import type { Write } from "../store.ts";
import { principalText, type World } from "../world.ts";
import { apiVersionOf, type KubeObject } from "#kernel/model/index.ts";
import { createOrUpdate } from "#kernel/kit/index.ts";
import { defaultPrefs, secretPrefs } from "./built-in.ts";
import { keptOf } from "./codec.ts";
import type { Parts } from "./parts.ts";

/** The one object with all preferences. It exists once a server has started. */
export const prefsName = "preferences";
const collection = "preferences";

/** Why values are refused; the first unknown name ends the list. */
export function prefsErrors(values: Prefs, world: World): readonly string[] {
  const unknown = Object.keys(values).find((name) => !(name in defaultPrefs) && !secretPrefs.includes(name));
  if (unknown !== undefined) return [`Unknown Preference ${unknown}`];
  return Object.entries(values).flatMap(([name, value]) => valueErrors(name, value, world));
}

function valueErrors(name: string, value: string, world: World): readonly string[] {
  switch (name) {
    case "defaultWorkflow":
      return value === "" || world.get("workflows", value) !== undefined
        ? []
        : [`${name}: Workflow ${value} does not exist`];
    case "defaultStage":
      return world.get("stages", value) === undefined ? [`${name}: Stage ${value} does not exist`] : [];
    case "defaultBootEnv":
    case "unknownBootEnv": {
      const found = world.get("bootenvs", value);
      if (found === undefined) return [`${name}: Bootenv ${value} does not exist`];
      const isForUnknown = name === "unknownBootEnv";
      if (found.OnlyUnknown === isForUnknown) return [];
      return [`${name}: BootEnv ${value} ${isForUnknown ? "must" : "must not"} have the OnlyUnknown flag`];
    }
    case "knownTokenTimeout":
    case "unknownTokenTimeout":
      return /^\d{1,9}$/.test(value) ? [] : [`${name}: expected a number of seconds, found ${JSON.stringify(value)}`];
    case "baseTokenSecret":
      return value.length === 32 ? [] : [`${name}: expected 32 characters, found ${value.length}`];
    default:
      return [];
  }
}

/** Replaces the values sent, in one write. Secret ones go where secrets are, and change the key of all tokens. */
export async function setPrefs(parts: Parts, values: Prefs, write: Write): Promise<Prefs> {
  const { mirror, clock, client, namespace, events } = parts;
  return await parts.inTurn(collection, async () => {
    const errors = prefsErrors(values, mirror);
    if (errors.length > 0) throw new Refused(refusal(400, "", collection, "", ...errors));
    const before = mirror.prefs;
    const shown = Object.fromEntries(Object.entries(values).filter(([name]) => !secretPrefs.includes(name)));
    for (const name of secretPrefs) if (values[name] !== undefined) await parts.tokens.renew(values[name]);
    const ref = { type: Preference, namespace, name: prefsName };
    const { object } = await createOrUpdate<KubeObject>(
      client,
      ref,
      (present) => withValues(present ?? emptyPrefs(namespace), shown),
      { clock },
    );
    mirror.putPrefs(keptOf(object));
    for (const [name, value] of Object.entries(shown)) {
      if (before[name] === value) continue;
      events.publish({
        Type: "prefs",
        Action: "update",
        Key: name,
        Principal: principalText(write.by),
        Object: { Name: name, Val: value },
        Original: { Name: name, Val: before[name] ?? "" },
      });
    }
    return mirror.prefs;
  });
}

export const emptyPrefs = (namespace = defaultNamespace): KubeObject => ({
  apiVersion: apiVersionOf(Preference),
  kind: Preference.kind,
  metadata: { name: prefsName, namespace },
  spec: { values: {} },
});

function withValues(object: KubeObject, values: Prefs): KubeObject {
  const { spec } = keptOf(object);
  const present = isJsonObject(spec["values"]) ? spec["values"] : {};
  return { ...object, spec: { ...spec, values: { ...present, ...values } } };
}
