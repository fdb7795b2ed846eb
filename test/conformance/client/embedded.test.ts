import { chaosClient } from "#kernel/kit/testing/index.ts";
import { afterAll, beforeAll } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { describeServerSideApply } from "#kernel/kit/client/apply.contract.ts";
import { describeApiClient } from "#kernel/kit/client/client.contract.ts";
import { type ContractServer, fixtureOn, startContractServer } from "./server-fixture.ts";

let server: ContractServer;
beforeAll(async () => {
  server = await startContractServer();
});
afterAll(() => server.close());

describeApiClient("embedded", () => fixtureOn(server, server.server.client()));
describeServerSideApply("embedded", () => fixtureOn(server, server.server.client()));
describeApiClient("embedded, through chaos without faults", () =>
  fixtureOn(server, chaosClient(server.server.client(), { clock: systemClock, random: () => 0, faults: {} })),
);
