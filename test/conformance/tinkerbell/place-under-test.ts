import { Place } from "#dialects/tinkerbell/server/testing/place.ts";
import { kubeconfigUnderTest, openClusterUnderTest } from "#test/support/cluster-under-test.ts";

/** A server of agents whose workflows the test prepares: on an API in memory, or on the cluster under test. */
export interface PlaceUnderTest {
  readonly place: Place;
  close(): Promise<void>;
}

export async function startPlaceUnderTest(): Promise<PlaceUnderTest> {
  const cluster = kubeconfigUnderTest === undefined ? undefined : await openClusterUnderTest(kubeconfigUnderTest);
  const place = await Place.start(cluster === undefined ? {} : { store: cluster.client });
  return {
    place,
    async close() {
      await place.close();
      await cluster?.close();
    },
  };
}
