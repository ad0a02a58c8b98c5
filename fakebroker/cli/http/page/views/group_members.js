// The members of a group: who and from where, what they have, when they were heard last and when they would be removed.

import { path } from "../core/api.js";
import { html } from "../core/dom.js";
import { counted, duration, ranges, shortIds } from "../core/format.js";
import { href } from "../core/router.js";
import { call } from "../parts/call.js";
import { bothEnds, rule } from "../parts/marks.js";
import { tableHead } from "../parts/tables.js";

// `passed_ms` is how long ago the broker sent it.
export function membersCard(group, passed_ms, actions) {
  const { members, pending_members } = group;
  const is_classic = group.kind === "classic";
  return html` <section class="card" aria-label="Members">
    <h2>${counted(members.length, "member")}</h2>
    ${members.length ? table(group, passed_ms, actions, is_classic) : html`<p class="muted">The group has no members.</p>`}
    ${pending_members?.length ? pending(pending_members, passed_ms) : ""}
  </section>`;
}

function table(group, passed_ms, actions, is_classic) {
  const columns = [
    "Member",
    is_classic ? "Assignment" : "Assignment and target",
    "Heard",
    "Times out",
    "Now",
    html`<span class="unseen">Actions</span>`,
  ];
  return html` <div class="scroll" tabindex="0" role="group" aria-label="Table of members">
    <table class="members">
      ${tableHead(columns.map((name) => [name]))}
      <tbody>
        ${group.members.map((member) => row(group, member, passed_ms, actions, is_classic))}
      </tbody>
    </table>
  </div>`;
}

function row(group, member, passed_ms, actions, is_classic) {
  const evict = call(
    "POST",
    path`/groups/${group.group_id}/evict`,
    `broker.group(${JSON.stringify(group.group_id)}).evict`,
    { member: member.member_id },
    { done: `${member.client_id} was removed from the group` },
  );
  return html` <tr>
    <td class="breaks">
      <a href=${href("timeline", [], { client: member.client_id })}>${member.client_id || "(no client id)"}</a>
      ${member.is_leader ? html`<span class="tag good">leader</span>` : ""}
      ${member.group_instance_id ? html`<span class="tag other" title="group.instance.id: a static member">${member.group_instance_id}</span>` : ""}
      <div class="mono muted id" title=${member.member_id}>${bothEnds(member.member_id)}</div>
      <div class="muted">from <span class="mono">${member.client_host}</span></div>
    </td>
    <td class="breaks">${assignment(member)}${is_classic ? "" : epochs(member)}</td>
    <td class="nowrap">${member.heard_ago_ms === null ? "" : `${duration(member.heard_ago_ms + passed_ms)} ago`}</td>
    <td>${end(member, passed_ms, group.rules ?? {})}</td>
    <td class="doing">
      ${doing(member)}${member.state && !member.doing.startsWith(member.state) ? html` <span class="muted">(${member.state})</span>` : ""}
    </td>
    <td class="number">${actions.button("Remove", evict, { kind: "small" })}</td>
  </tr>`;
}

// What it does, unless that is only to have what its assignment says already.
function doing(member) {
  return /^owns [{]/.test(member.doing) ? html`<span class="muted">stable</span>` : shortIds(member.doing);
}

function assignment(member) {
  if (member.tasks) return html`<pre>${JSON.stringify(member.tasks, null, 1)}</pre>`;
  const parts = Object.entries(member.assignment ?? {});
  if (!parts.length)
    return html`<span class="muted"
      >nothing${member.subscription?.length ? ` of ${member.subscription.join(", ")}` : ""}</span
    >`;
  return parts.map(
    ([topic, partitions]) =>
      html`<div><span class="mono">${topic}</span> <span class="nowrap">${ranges(partitions)}</span></div>`,
  );
}

function epochs(member) {
  const badges = [];
  if (differs(member.target, member.assignment))
    badges.push(html`<div class="warn">target: ${topicRanges(member.target) || "nothing"}</div>`);
  if (Object.keys(member.revoking ?? {}).length)
    badges.push(html`<div class="warn">revoking ${topicRanges(member.revoking)}</div>`);
  return html`${badges}
    <div class="muted">member epoch ${member.member_epoch}</div>`;
}

function differs(target, given) {
  return topicRanges(target) !== topicRanges(given);
}

function topicRanges(assigned) {
  return Object.entries(assigned ?? {})
    .filter(([, list]) => list.length)
    .sort()
    .map(([topic, list]) => `${topic} ${ranges(list)}`)
    .join(", ");
}

// When the member would be removed, with how much of its session is left.
function end(member, passed_ms, rules) {
  const left_ms = member.removed_left_ms;
  if (left_ms === null || left_ms === undefined) return html`<span class="muted">not now</span>`;
  const now_ms = Math.max(0, left_ms - passed_ms);
  const whole_ms = Math.max(member.session_timeout_ms ?? 0, left_ms, 1);
  return html`<div class="nowrap">in ${duration(now_ms)} ${rule(member.removed_rule, rules[member.removed_rule])}</div>
    <div
      class="left ${now_ms < whole_ms / 4 ? "is-short" : ""}"
      .style=${`--left:${Math.round((100 * now_ms) / whole_ms)}%`}
    ></div>`;
}

function pending(members, passed_ms) {
  const one = (each) =>
    html`<li>
      <span class="mono">${each.member_id}</span>
      <span class="muted">${duration(Math.max(0, each.left_ms - passed_ms))} left</span>
    </li>`;
  return html`<h3>Has a member id, but has not joined yet</h3>
    <ul>
      ${members.map(one)}
    </ul>`;
}
