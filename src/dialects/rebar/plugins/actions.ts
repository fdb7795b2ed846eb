import { type Clock, isJsonObject, type JsonObject, type JsonValue, messageOf } from "#lib/base/index.ts";
import type { SecureParams } from "../accounts.ts";
import type { Machine, Plugin } from "../objects.ts";
import { findParam } from "../params/lookup.ts";
import type { RebarStore } from "../store.ts";
import { type Principal, principalText, type World } from "../world.ts";
import { asJson } from "../model/read.ts";
import { type ActionOutcome, type CommandRun, ownNetworks, runExec, runHttp } from "./run-command.ts";

/** Something a plugin can do with a machine, as clients see it. */
export interface AvailableAction {
  readonly Provider: string;
  readonly Model: string;
  readonly Command: string;
  readonly RequiredParams: readonly string[];
  readonly OptionalParams: readonly string[];
}

export interface ActionRequest {
  readonly machine: Machine;
  /** Undefined: the first plugin by name that offers the command. */
  readonly plugin?: string | undefined;
  readonly command: string;
  /** Values that come before the machine's own. */
  readonly params: JsonObject;
  readonly by: Principal;
}

export interface Actions {
  available(machine: Machine): readonly AvailableAction[];
  /** Runs the action and publishes an event of it. Does not reject. */
  run(request: ActionRequest, signal: AbortSignal): Promise<ActionOutcome>;
}

export interface ActionParts {
  readonly store: Pick<RebarStore, "world" | "publish">;
  readonly clock: Clock;
  /** The provider `exec` runs programs on the server's host, and `http` reaches it. */
  readonly allowExec: boolean;
  /** Opens sealed values that an action needs. */
  readonly secure: Pick<SecureParams, "open">;
  readonly run?: CommandRun;
}

interface Offer {
  readonly plugin: Plugin;
  readonly provider: "exec" | "http";
  readonly commands: JsonObject;
}

/** Plugin objects instantiate the built-in providers `exec` and `http`. */
export function openActions(parts: ActionParts): Actions {
  const offers = (): readonly Offer[] => parts.store.world.all("plugins").flatMap((plugin) => offerOf(parts, plugin));
  return {
    available: () =>
      offers().flatMap((offer) => Object.keys(offer.commands).map((command) => availableAction(offer, command))),
    run: (request, signal) => runAction(parts, offers(), request, signal),
  };
}

/** What the plugin can do; empty if it is not usable or its provider is not allowed here. */
function offerOf({ allowExec }: ActionParts, plugin: Plugin): readonly Offer[] {
  const { Provider, Params, Available, PluginErrors } = plugin;
  if (!Available || PluginErrors.length > 0) return [];
  if (Provider === "exec" && allowExec) {
    const commands = Params["exec/commands"];
    return isJsonObject(commands) ? [{ plugin, provider: "exec", commands }] : [];
  }
  if (Provider !== "http") return [];
  const commands = commandsIn(Params["http/commands"]);
  return commands === undefined ? [] : [{ plugin, provider: "http", commands }];
}

/** A list of names, or a map with what each needs. */
function commandsIn(value: JsonValue | undefined): JsonObject | undefined {
  if (isJsonObject(value)) return value;
  if (!Array.isArray(value)) return undefined;
  return Object.fromEntries(value.flatMap((name) => (typeof name === "string" ? [[name, {}]] : [])));
}

function availableAction({ plugin, commands }: Offer, command: string): AvailableAction {
  const described = commands[command];
  return {
    Provider: plugin.Name,
    Model: "machines",
    Command: command,
    RequiredParams: wordsIn(described, "RequiredParams"),
    OptionalParams: wordsIn(described, "OptionalParams"),
  };
}

const wordsIn = (described: JsonValue | undefined, member: string): readonly string[] => {
  const list = isJsonObject(described) ? described[member] : undefined;
  return Array.isArray(list) ? list.filter((item) => typeof item === "string") : [];
};

async function runAction(
  parts: ActionParts,
  offers: readonly Offer[],
  request: ActionRequest,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { machine, plugin, command, by } = request;
  const offering = offers.filter(
    (offer) => Object.hasOwn(offer.commands, command) && (plugin === undefined || offer.plugin.Name === plugin),
  );
  const [first] = offering;
  if (first === undefined) return { kind: "unknown", reason: `${command}: no plugin offers this action`, output: "" };
  const ready = offering.find((offer) => missingParams(parts, offer, request).length === 0);
  if (ready === undefined) {
    const missing = missingParams(parts, first, request).join(", ");
    return { kind: "invalid", reason: `Action ${command} missing required parameters: ${missing}`, output: "" };
  }
  const needs = availableAction(ready, command);
  const params: Record<string, JsonValue | undefined> = { ...request.params };
  try {
    for (const name of [...needs.RequiredParams, ...needs.OptionalParams])
      params[name] ??= await openParam(parts, machine, name);
  } catch (thrown) {
    return { kind: "failed", reason: messageOf(thrown), output: "" };
  }
  const sent = { machine: withoutSecret(machine), params };
  const described = ready.commands[command] ?? null;
  const { clock, allowExec } = parts;
  const denied = allowExec ? [] : ownNetworks;
  const outcome = await (ready.provider === "exec"
    ? (parts.run ?? runExec)(described, sent, signal)
    : runHttp({ described, params: ready.plugin.Params, command, sent }, { denied, clock, signal }));
  parts.store.publish({
    Type: "machines",
    Action: command,
    Key: machine.Uuid,
    Principal: principalText(by),
    Object: machine,
    Original: null,
  });
  return outcome;
}

const paramOf = (world: World, object: Machine, name: string) =>
  findParam(world, { collection: "machines", object }, name);

async function openParam(
  { store: { world }, secure }: ActionParts,
  machine: Machine,
  name: string,
): Promise<JsonValue | undefined> {
  const found = paramOf(world, machine, name);
  if (found?.owner === undefined || world.get("params", name)?.Secure !== true) return found?.value;
  return await secure.open(found.owner, found.value);
}

/** Programs and services of others get what they need to know. */
function withoutSecret(machine: Machine): JsonObject {
  const { Secret: _secret, ...rest } = asJson(machine);
  return rest;
}

const missingParams = (
  parts: ActionParts,
  offer: Offer,
  { machine, command, params }: ActionRequest,
): readonly string[] =>
  availableAction(offer, command).RequiredParams.filter(
    (name) => params[name] === undefined && paramOf(parts.store.world, machine, name) === undefined,
  );
