-- What can be asked of a pool.
local operations = {}

local function changes_all(there, spec)  -- nothing of what is there holds for this definition
  if there.kind == 'never' or spec.kind == 'never' then return there.kind ~= spec.kind end
  if spec.provisional then return false end
  return there.provisional or (there.kind == 'gauge') ~= (spec.kind == 'gauge')
end
local function shape(w, spec)
  w.kind, w.period = spec.kind, spec.period
  w.rate = w.kind == 'bucket' and w.period > 0 and w.cap / w.period or 0
  w.ends = w.kind == 'fixed' and now + (spec.ends_in > 0 and spec.ends_in or spec.period) or 0
end
local function make(spec, held)
  put('SADD', POOL .. ':names', spec.name)
  if spec.kind == 'never' then
    local w = {name = spec.name, kind = 'never'}
    windows[spec.name] = w
    touched[spec.name] = nil
    call('DEL', POOL .. ':w:' .. spec.name)
    call('HSET', purse(w), 'cap', spec.cap, 'left', spec.cap, 'free', spec.cap)
    for _, field in ipairs({'left', 'free'}) do add(w, field, minus(spec.used)) end
    call('PEXPIRE', purse(w), MONEY_TTL)
    return
  end
  call('DEL', POOL .. ':m:' .. spec.name)
  local cap = tonumber(spec.cap)
  local w = made(spec.name, spec.kind, cap, (spec.level and math.min(spec.level, cap) or cap) - held)
  w.held, w.cold, w.provisional, w.untold = held, spec.level ~= nil, spec.provisional, spec.untold
  shape(w, spec)
  store(w)
end
function operations.define(asked)
  for _, spec in ipairs(asked.windows) do
    local there = load(spec.name)
    if not there or changes_all(there, spec) then make(spec, there and there.held or 0)
    elseif there.kind == 'never' then resize(there, spec.cap)
    elseif not spec.provisional then
      if spec.kind ~= 'gauge' and (spec.kind ~= there.kind or spec.period ~= there.period) then shape(there, spec) end
      resize(there, tonumber(spec.cap))
      if spec.level and spec.kind ~= 'gauge' then chill(there, spec.level) end
    end
  end
end

local function left_of(w)
  local full = w.kind == 'bucket' and math.max(0, w.cap - w.level) / math.max(flow(w), 1e-12) or math.max(0, w.ends - now)
  return text(math.floor(w.cap)), text(math.max(0, math.floor(w.level))), text(math.ceil(full))
end
local function granted(first)          -- what is left of the windows of rates that it holds something of
  local told, names, seen = {'granted', text(first.tag)}, {}, {}
  for _, id in ipairs(first.entry) do
    local l = lease(id)
    for name in pairs(l and l.amounts or {}) do
      if not seen[name] then seen[name] = true; names[#names + 1] = name end
    end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local w = load(name)
    if w and (w.kind == 'bucket' or w.kind == 'fixed') then
      local n = #told
      told[n + 1], told[n + 2], told[n + 3], told[n + 4] = name, left_of(w)
    end
  end
  return told
end

local function impossible(name)
  local w = load(name)
  if not w then return {'unknown', name} end
  return {'never', name, w.kind == 'never' and call('HGET', purse(w), 'left') or text(math.floor(w.cap))}
end
local function steps_of(asked)         -- what it moves its tenant back
  local part = 0
  for name, need in pairs(asked.needs) do
    local w = load(name)
    if w.kind ~= 'never' and w.cap > 0 then part = math.max(part, tonumber(need) / w.cap) end
  end
  return math.max(1, math.ceil(1000000 * part / math.max(asked.weight, 0.001)))
end
local function full(asked)
  if not asked.queue then return nil end
  if queued >= asked.most then return {'full', 'pool'} end
  if tonumber(call('HGET', TENANTS, asked.tenant) or 0) >= asked.most_of_tenant then return {'full', 'tenant'} end
end
local function queue(asked, tag, start)       -- and see whether it goes at once; if it may not stay, take it out again
  local e = {id = asked.id, asks = asked.asks, needs = asked.needs, names = asked.names, lane = table.concat(asked.names, '\n'),
             tenant = asked.tenant, priority = asked.priority, since = now - asked.since, tag = tag, start = start,
             channel = asked.channel, ring = asked.ring}
  enter(e, asked.queue and not asked.tag)
  local heads = pump(e.id, asked.dispatched)
  if call('EXISTS', POOL .. ':entry:' .. e.id) == 0 then return granted(lease(e.id)) end
  local answer = standing(e, heads)
  if asked.queue then put('ZADD', SEEN, now + UNSEEN_MS, e.id) else remove(e) end
  return answer
end
function operations.admit(asked)
  local l = lease(asked.id)
  if l and (l.sent or not l.ended) then return granted(l) end
  if queued > 0 and entry(asked.id) then return operations.check(asked) end
  local q, binding = judge(asked.names, asked.needs)
  if q == NEVER or q == ABSENT then return impossible(binding) end
  local steps = steps_of(asked)
  local tag = asked.tag or next_tag(asked.tenant, steps)
  if q == 0 and queued == 0 then
    grant(asked.asks, tag, asked.dispatched)
    return granted(lease(asked.id))
  end
  return full(asked) or queue(asked, tag, tag - steps)
end
function operations.check(asked)
  local heads = pump(asked.id)
  local l = lease(asked.id)
  if l and not l.ended then return granted(l) end
  local e = entry(asked.id)
  if not e then return {'unknown', ''} end
  put('ZADD', SEEN, now + UNSEEN_MS, e.id)
  return standing(e, heads)
end
function operations.leave(asked)
  local e = entry(asked.id)
  local first = lease(asked.id)
  if e then remove(e) else
    for _, id in ipairs(first and first.entry or {}) do
      local l = lease(id)
      if l and not l.ended and not l.sent then free(l) end
    end
  end
  pump()
end

function operations.dispatch(asked)
  for _, id in ipairs(asked.leases) do
    local l = lease(id)
    if l and not l.ended and not l.sent then
      discount(l)
      send(l)
    end
  end
end
function operations.renew(asked)
  for _, id in ipairs(asked.leases) do
    local l = lease(id)
    if l and not l.ended then
      put('ZADD', EXPIRES, now + (l.sent and DISPATCHED_MS or GRANTED_MS), id)
      keep(l)
    end
  end
end
local function sum(a, b)               -- exact also where numbers are not
  local scratch = POOL .. ':sum'
  call('HSET', scratch, 'of', a)
  call('HINCRBY', scratch, 'of', b)
  local total = call('HGET', scratch, 'of')
  call('DEL', scratch)
  return total
end
function operations.extend(asked)
  local l = lease(asked.id)
  if not l or l.ended then return end
  for name, more in pairs(asked.more) do
    local w = load(name)
    if w then
      take(w, more)
      if w.kind == 'bucket' and w.level < 0 then widen(w) end
      l.amounts[name] = sum(l.amounts[name] or '0', more)
    end
  end
  keep(l)
end
function operations.tell(asked)
  local l = lease(asked.id)
  if l then read_all(l, asked.readings) end
  pump()
end

function operations.settle(asked)
  local l = lease(asked.id)
  local known = l ~= nil
  l = l or stranger(asked.id)
  local changed, charges = false, {}
  if not l.ended then for name, held in pairs(l.amounts) do charges[name] = held end end
  for name, used in pairs(asked.used) do
    changed = changed or l.amounts[name] ~= used
    charges[name] = used
  end
  local repeated = l.ended and known and not changed
  charge(l, charges)
  if asked.row and not (repeated and l.row == asked.row) then keep_row(l, asked.row) end
  if known then read_all(l, asked.readings) end
  pump()
end
function operations.cancel(asked)
  local l = lease(asked.id)
  if l and not l.ended then free(l) end
  pump()
end
function operations.reject(asked)
  local l = lease(asked.id)
  local holds, charges, names = {}, {}, {}
  for name, held in pairs(l and l.amounts or {}) do
    holds[name] = held
    charges[name] = asked.counts and string.find(name, ':requests:[^:]*$') and held or '0'
    names[#names + 1] = name
  end
  if l then charge(l, charges) end
  table.sort(names)
  for _, name in ipairs(asked.window and {asked.window} or names) do
    local w = load(name)
    if w and w.kind ~= 'never' and (asked.window or w.kind ~= 'gauge') then
      -- A refusal that names no window is hardly ever about the day's: that is not emptied for it.
      local drained = asked.window or (w.kind == 'bucket' and w.period <= 60000)
      refuse(w, tonumber(holds[name] or 0), asked.retry_after, drained)
    end
  end
  if l then read_all(l, asked.readings, true) end
  pump()
end

local function state(w)
  if w.kind == 'never' then
    local amounts = call('HMGET', purse(w), 'cap', 'left', 'free')
    return {w.name, 'never', amounts[1], amounts[2], amounts[3]}
  end
  return {w.name, w.kind, text(math.floor(w.cap)), text(w.level), text(margin(w)), text(flow(w) * 1000), text(w.ext * 1000),
          text(math.ceil(math.max(0, w.blocked - now))), w.kind == 'fixed' and text(math.ceil(w.ends - now)) or '',
          text(math.floor(w.held)), w.provisional and '1' or ''}
end
function operations.peek()
  local names, states = call('SMEMBERS', POOL .. ':names'), {}
  table.sort(names)
  for _, name in ipairs(names) do
    local w = load(name)
    if w then states[#states + 1] = state(w) else call('SREM', POOL .. ':names', name) end
  end
  local lost = call('HMGET', POOL .. ':pool', 'orphans', 'ungrabbed')
  return {states, text(queued), text(call('ZCARD', EXPIRES)), lost[1] or '0', lost[2] or '0'}
end
function operations.rows(asked)
  local ids = call('ZRANGEBYSCORE', POOL .. ':rows', '-inf', now - asked.older, 'LIMIT', 0, asked.most)
  local found = {}
  for i, id in ipairs(ids) do found[i] = {id, call('HGET', POOL .. ':row', id)} end
  return found
end
function operations.acknowledge(asked)
  for _, id in ipairs(asked.leases) do
    call('ZREM', POOL .. ':rows', id)
    call('HDEL', POOL .. ':row', id)
  end
end

-- What is asked of one pool at one moment is done in one go: its windows are read and written once.
tidy()
local answers = {}
for i = 2, #ARGV, 2 do
  local fine, answer = pcall(function() return operations[ARGV[i]](cjson.decode(ARGV[i + 1])) end)
  if not fine then answer = {'failed', type(answer) == 'table' and answer.err or tostring(answer)} end
  answers[#answers + 1] = answer or false
end
write_sums()
write()
return answers
