import { err, objectAt, ok, type Result } from "#lib/base/index.ts";
import { type ApiClient, isAllowed } from "#kernel/kit/index.ts";
import {
  actsForAnnotation,
  asJson,
  distinctWriters,
  subdomainRule,
  type KubeObject,
  type Stored,
  type Writer,
  writersNote,
  writersOf,
} from "#kernel/model/index.ts";
import { annotation } from "../labels.ts";

/** As a Manager is. */
export interface Actors {
  /** With the rights of everybody who wrote part of the object. */
  clientFor(object: KubeObject): ApiClient;
  clientAs(user: Writer): ApiClient | undefined;
}

/** As if these users had written the object and all that it refers to. */
function writtenBy(application: Stored, writers: readonly Writer[]): Stored {
  const { [actsForAnnotation]: _before, ...others } = application.metadata.annotations ?? {};
  const note = writersNote(writers);
  const annotations = note === undefined ? others : { ...others, [actsForAnnotation]: note };
  const status = { ...objectAt(asJson(application), "status"), actsFor: [] };
  return { ...application, metadata: { ...application.metadata, annotations }, status };
}

const accountWriter = (namespace: string, name: string): Writer => ({
  user: `system:serviceaccount:${namespace}:${name}`,
  groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
});

const namedAccount = ({ metadata }: Stored): string => metadata.annotations?.[annotation.serviceAccount] ?? "";

/**
 * Who wrote the application, without the ServiceAccount that acts for it: that one may not read what the application
 * refers to, and what its steps wrote back they wrote for these writers.
 */
function peopleOf(application: Stored, others: readonly Writer[] = []): readonly Writer[] {
  const all = distinctWriters([...writersOf(application), ...others]);
  const name = namedAccount(application);
  if (name === "") return all;
  const account = accountWriter(application.metadata.namespace ?? "", name);
  const people = all.filter(({ user }) => user !== account.user);
  return all.length > 0 && people.length === 0 ? [account] : people;
}

/** The client that reads what an application refers to. */
export const readingClient = (actors: Actors, application: Stored): ApiClient =>
  actors.clientFor(writtenBy(application, peopleOf(application)));

/**
 * The client for the steps of an application with policy `security`: it has the rights that the account and all writers
 * have. The policy's objects are made with the writers' rights, but an account of that name may have more. Only after
 * `actingClient` has checked who may impersonate the account that the annotation names.
 */
export function limitedClient(
  actors: Actors,
  application: Stored,
  others: readonly Writer[],
  account: string,
): Result<ApiClient, string> {
  const named = namedAccount(application);
  if (named !== "" && named !== account)
    return err(
      `policy security runs the workflow as ${account} and annotation ${annotation.serviceAccount} as ${named}; remove one`,
    );
  const limit = accountWriter(application.metadata.namespace ?? "", account);
  const writers = named === account ? [] : peopleOf(application, others);
  // Without recorded writers `clientFor` would have the controller's own rights.
  if (writers.length > 0) return ok(actors.clientFor(writtenBy(application, distinctWriters([...writers, limit]))));
  const client = actors.clientAs(limit);
  return client === undefined ? err("this control plane cannot act as a ServiceAccount") : ok(client);
}

/**
 * The client for what an application does. `others` wrote what it refers to (`snapshotWriters`). It has the rights that
 * all of these writers have or, with annotation `app.oam.dev/service-account-name`, those of the ServiceAccount, which
 * each writer but the account itself must be allowed to impersonate.
 */
export async function actingClient(
  actors: Actors,
  application: Stored,
  others: readonly Writer[],
  signal: AbortSignal,
): Promise<Result<ApiClient, string>> {
  const people = peopleOf(application, others);
  const writers = actors.clientFor(writtenBy(application, people));
  const { namespace = "" } = application.metadata;
  const name = namedAccount(application);
  if (name === "") return ok(writers);
  if (subdomainRule(name) !== undefined)
    return err(`annotation ${annotation.serviceAccount}: invalid name ${JSON.stringify(name)}`);
  const account = accountWriter(namespace, name);
  const right = { verb: "impersonate", group: "", resource: "serviceaccounts", namespace, name };
  // Clusters record no writers: there the controllers' own rights count.
  const who = people.length === 0 ? "the controllers" : "the writers of the application";
  const isItself = people.every(({ user }) => user === account.user) && people.length > 0;
  if (!isItself && !(await isAllowed(writers, right, signal)))
    return err(`${who} may not act as ServiceAccount ${namespace}/${name}: they need the right to impersonate it`);
  const client = actors.clientAs(account);
  return client === undefined ? err("this control plane cannot act as a ServiceAccount") : ok(client);
}
