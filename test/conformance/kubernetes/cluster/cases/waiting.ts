import { type Case, refused } from "../suite/case.ts";
import { configMap, job, pod } from "./documents.ts";

export const waitingCases: readonly Case[] = [
  {
    line: 15,
    name: "wait --for=condition waits, and ends with 1 when its time is over",
    files: { "j.json": job("j", "sleep 0.3"), "p.json": pod("p", "sleep 60", { nodeName: "nowhere" }) },
    steps: [
      ["kubectl create -f j.json -f p.json"],
      ["kubectl wait --for=condition=complete job/j --timeout=60s", "job.batch/j condition met\n"],
      ["kubectl wait --for=condition=Ready pod/p --timeout=1s", refused(/timed out waiting for the condition/)],
      ["kubectl delete pod p --grace-period=0 --force", { err: /.*/ }],
    ],
  },
  {
    line: 15,
    name: "wait --for=jsonpath waits for a value",
    since: 24,
    files: { "p.json": pod("p", "sleep 0.3") },
    steps: [
      ["kubectl create -f p.json"],
      ["kubectl wait --for=jsonpath='{.status.phase}'=Succeeded pod/p --timeout=60s", "pod/p condition met\n"],
    ],
  },
  {
    line: 15,
    since: 27,
    name: "wait --for=delete ends with the deletion, and at once when there is nothing",
    files: { "a.json": configMap("a", {}, { finalizers: ["example.org/held"] }) },
    steps: [
      ["kubectl create -f a.json && kubectl delete cm a --wait=false"],
      ["kubectl wait --for=delete cm/a --timeout=1s", refused(/timed out/)],
      [
        `(kubectl wait --for=delete cm/a --timeout=60s >waited; echo $? >code) & kubectl patch cm a --type=merge -p '{"metadata":{"finalizers":null}}' && wait; cat code`,
        /\n?0\n$/,
      ],
      ["kubectl wait --for=delete cm/a --timeout=5s", { err: /.*/ }],
    ],
  },
  {
    line: 15,
    name: "wait --for=create waits for an object that is not there yet",
    since: 31,
    files: { "a.json": configMap("a") },
    steps: [
      [
        "(kubectl wait --for=create cm/a --timeout=60s; echo $? >code) & kubectl create -f a.json && wait; cat code",
        /0\n$/,
      ],
    ],
  },
];
