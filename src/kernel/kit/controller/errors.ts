import { type Millis, SlipwayError } from "#lib/base/index.ts";

// What can fail in a controller besides the API. The codes are for programs and stay; messages and hints are for people.

/** The reason of a pass's abort signal: the reconciler did not end in time and must not write any more. */
export const reconcileTimedOut = (controller: string, key: string, limit: Millis): SlipwayError =>
  new SlipwayError("reconcile-timeout", `${controller}: the reconcile of "${key}" took longer than ${limit / 1000} s`);

/** The reason of passes that were still under way when the grace of a stop was over. */
export const controllerStopped = (controller: string): SlipwayError =>
  new SlipwayError("controller-stopped", `the controller ${controller} is stopped`);

/** Ends the process: what it has begun may be done by another one at the same moment. */
export const leadershipLost = (lease: string, cause: unknown): SlipwayError =>
  new SlipwayError("leadership-lost", `the lease ${lease} could not be renewed in time, another process may lead now`, {
    hint: "the process ends so that nothing is done twice; it is safe to start it again",
    cause,
  });

/** `what` is a kind and a name, for people. */
export const waitTimedOut = (what: string, limit: Millis): SlipwayError =>
  new SlipwayError("wait-timeout", `${what} did not become true within ${limit / 1000} s`);

/** A definition of that name was not installed by Slipway; replacing it could break whoever did. */
export const foreignDefinition = (name: string): SlipwayError =>
  new SlipwayError("foreign-crd", `the CustomResourceDefinition ${name} exists and does not belong to Slipway`, {
    hint: "it is left as it is; use --adopt-crds to replace it",
  });

/** `stored` are versions in which objects exist and which the definition to be installed would no longer serve. */
export const storageDowngrade = (name: string, stored: readonly string[]): SlipwayError =>
  new SlipwayError(
    "crd-downgrade",
    `objects of ${name} are stored as ${stored.join(", ")}, which this version does not serve`,
    {
      hint: "use a Slipway at least as new as the one that wrote them",
    },
  );
