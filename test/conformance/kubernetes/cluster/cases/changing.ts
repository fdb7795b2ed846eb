import { type Case, refused } from "../suite/case.ts";
import { configMap, deployment, pod } from "./documents.ts";

const editor = '#!/bin/sh\nsed -i "s/before/after/" "$1"\n';

export const changingCases: readonly Case[] = [
  {
    line: 8,
    name: "edit changes an object, and nothing when nothing is changed",
    files: { "a.json": configMap("a", { k: "before" }), "editor.sh": editor },
    steps: [
      ["kubectl create -f a.json"],
      ["EDITOR=$PWD/editor.sh kubectl edit cm a", /configmap\/a edited/],
      ["kubectl get cm a -o 'jsonpath={.data.k}'", "after"],
      ["EDITOR=true kubectl edit cm a 2>&1", /no changes made|cancelled/i],
    ],
  },
  {
    line: 8,
    name: "replace swaps the whole object, --force makes a new one",
    files: {
      "a.json": configMap("a", { k: "1", l: "1" }),
      "b.json": configMap("a", { m: "1" }),
      "n.json": configMap("n"),
    },
    steps: [
      ["kubectl create -f a.json && kubectl get cm a -o 'jsonpath={.metadata.uid}' >uid"],
      ["kubectl replace -f b.json", "configmap/a replaced\n"],
      ["kubectl get cm a -o 'jsonpath={.data}'", '{"m":"1"}'],
      ["kubectl get cm a -o 'jsonpath={.metadata.uid}' | cmp - uid"],
      ["kubectl replace -f n.json", refused(/configmaps "n" not found/)],
      ["kubectl replace --force -f a.json", /configmap\/a replaced/],
      ["kubectl get cm a -o 'jsonpath={.metadata.uid}' | cmp -s - uid", { code: 1 }],
      ["kubectl get cm a -o 'jsonpath={.data.k}'", "1"],
    ],
  },
  {
    line: 8,
    name: "replace with the revision of before is a conflict",
    files: { "a.json": configMap("a", { k: "1" }) },
    steps: [
      ["kubectl create -f a.json && kubectl get cm a -o json >old.json"],
      ["kubectl label cm a l=1"],
      [
        "kubectl replace -f old.json",
        refused(/Operation cannot be fulfilled on configmaps "a": the object has been modified/),
      ],
    ],
  },
  {
    line: 8,
    name: "patch merges, strategically and as RFC 7386 says, and follows JSON Patch",
    files: {
      "p.json": pod("p", "sleep 60", { nodeName: "nowhere" }),
      "a.json": configMap("a", { k: "1", l: "1" }),
    },
    steps: [
      ["kubectl create -f p.json -f a.json"],
      [`kubectl patch pod p -p '{"spec":{"containers":[{"name":"main","image":"alpine"}]}}'`, /patched/],
      ["kubectl get pod p -o 'jsonpath={.spec.containers[0].image} {.spec.containers[0].command[0]}'", "alpine sh"],
      [`kubectl patch cm a --type=merge -p '{"data":{"k":null,"m":"1"}}'`, "configmap/a patched\n"],
      [`kubectl patch cm a --type=merge -p '{"data":{"m":"1"}}'`, "configmap/a patched (no change)\n"],
      [
        `kubectl patch cm a --type=json -p '[{"op":"test","path":"/data/l","value":"1"},{"op":"move","from":"/data/l","path":"/data/n"}]'`,
      ],
      ["kubectl get cm a -o 'jsonpath={.data}'", '{"m":"1","n":"1"}'],
      [`kubectl patch cm a --type=json -p '[{"op":"test","path":"/data/n","value":"2"}]'`, { code: 1 }],
      ["kubectl delete pod p --grace-period=0 --force", { err: /.*/ }],
    ],
  },
  {
    line: 8,
    name: "label and annotate add, overwrite when told, and remove",
    files: { "a.json": configMap("a") },
    steps: [
      ["kubectl create -f a.json"],
      ["kubectl label cm a l=1", "configmap/a labeled\n"],
      ["kubectl label cm a l=2", refused(/already has a value \(1\)/)],
      ["kubectl label cm a l=2 --overwrite"],
      ["kubectl annotate cm a n='a b' m=1", /annotated?/],
      ["kubectl annotate cm a m-"],
      ["kubectl get cm a -o 'jsonpath={.metadata.labels} {.metadata.annotations}'", '{"l":"2"} {"n":"a b"}'],
      ["kubectl label cm a l-", /configmap\/a (unlabeled|labeled)/],
      ["kubectl label cm a 'l=not valid'", refused(/a valid label must|invalid label value/i)],
    ],
  },
  {
    line: 8,
    name: "set image changes one container of a Deployment",
    needs: ["deployments.apps"],
    files: { "d.json": deployment("d", 0) },
    steps: [
      ["kubectl create -f d.json"],
      ["kubectl set image deployment/d main=alpine:3", /deployment.apps\/d image updated/],
      ["kubectl set env deployment/d A=b", /env updated/],
      [
        "kubectl get deploy d -o 'jsonpath={.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].env}'",
        'alpine:3 [{"name":"A","value":"b"}]',
      ],
    ],
  },
];
