-- The queue and its pump, the same as gateway/admission/queueing.py and gateway/stores/memory/pump.py.
-- A lane is the entries that need the same windows: a zset whose members, all of score 0, sort by class, tag and number.
local UNSEEN_MS, AGEING_MS = 15000, 10000
local FOLLOWING, GRANTS = 8, 64
local SEEN, RISES, LANES = POOL .. ':seen', POOL .. ':rises', POOL .. ':lanes'
local FINISHES, TENANTS = POOL .. ':finishes', POOL .. ':tenants'
local ORDER_LENGTH = 30                -- of a member, before the entry's id

local counts = call('HMGET', POOL .. ':pool', 'queued', 'virtual', 'number')
local queued, virtual, number = tonumber(counts[1] or 0), tonumber(counts[2] or 0), tonumber(counts[3] or 0)

local function entry(id)
  local packed = call('GET', POOL .. ':entry:' .. id)
  return packed and cmsgpack.unpack(packed)
end

local function risen(priority, waited)
  if priority <= 1 then return priority end
  return math.max(1, priority - math.floor(math.max(0, waited) / AGEING_MS))
end
local function rises_in(priority, waited)
  if risen(priority, waited) <= 1 then return nil end
  return (math.floor(math.max(0, waited) / AGEING_MS) + 1) * AGEING_MS - waited
end

local function count_lane(e, sign)     -- how many stand in its lane, and what they need together
  local packed = call('HGET', LANES, e.lane)
  local standing = packed and cmsgpack.unpack(packed) or {count = 0, names = e.names, sums = {}}
  standing.count = standing.count + sign
  if standing.count == 0 then return call('HDEL', LANES, e.lane) end
  for name, need in pairs(e.needs) do standing.sums[name] = (standing.sums[name] or 0) + sign * tonumber(need) end
  put('HSET', LANES, e.lane, cmsgpack.pack(standing))
end
local function place(e)
  local waited = now - e.since
  e.class = risen(e.priority, waited)
  e.member = string.format('%d%016.0f%012.0f:', e.class, e.tag, e.number) .. e.id
  call('ZADD', POOL .. ':lane:' .. e.lane, 0, e.member)
  call('PEXPIRE', POOL .. ':lane:' .. e.lane, RATE_TTL + 2 * DAY)
  count_lane(e, 1)
  local rise = rises_in(e.priority, waited)
  if rise then put('ZADD', RISES, now + rise, e.id) end
  call('SET', POOL .. ':entry:' .. e.id, cmsgpack.pack(e), 'PX', RATE_TTL + 2 * DAY)
end
local function unplace(e)
  call('ZREM', POOL .. ':lane:' .. e.lane, e.member)
  count_lane(e, -1)
  call('ZREM', RISES, e.id)
end

local function enter(e, fresh)
  if fresh then put('HSET', FINISHES, e.tenant, e.tag) end
  number, queued = number + 1, queued + 1
  put('HSET', POOL .. ':pool', 'number', number, 'queued', queued)
  put('HINCRBY', TENANTS, e.tenant, 1)
  e.number = number
  place(e)
end
local function remove(e, granted)
  unplace(e)
  call('DEL', POOL .. ':entry:' .. e.id)
  call('ZREM', SEEN, e.id)
  if put('HINCRBY', TENANTS, e.tenant, -1) == 0 then call('HDEL', TENANTS, e.tenant) end
  if granted then virtual = math.max(virtual, e.tag) end
  queued = queued - 1
  put('HSET', POOL .. ':pool', 'queued', queued, 'virtual', virtual)
  if queued == 0 then call('DEL', FINISHES) end  -- nobody is behind virtual time any more
end
local function next_tag(tenant, steps)
  return math.max(virtual, tonumber(call('HGET', FINISHES, tenant) or 0)) + steps
end

local function due(key)
  local ids = call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, TIDIED)
  if #ids > 0 then call('ZREM', key, unpack(ids)) end
  return ids
end
local function tidy()                  -- end leases that nobody renewed; drop and age who waits
  for _, id in ipairs(due(EXPIRES)) do
    local l = lease(id)
    if l then lapse(l) end
  end
  if queued == 0 then return end
  for _, id in ipairs(due(SEEN)) do remove(entry(id)) end
  for _, id in ipairs(due(RISES)) do
    local e = entry(id)
    unplace(e)
    -- Who waits for what its own tenant asked before does not age: a flood would soon stand before all others.
    if e.start > virtual then e.since = now - (e.priority - e.class) * AGEING_MS end
    place(e)
  end
end
-- The longest wait of `needs` for any of its windows after what is `ahead`, and that window's name.
local function judge(names, needs, ahead)
  local worst, binding = 0, ''
  for _, name in ipairs(names) do
    local w = load(name)
    if not w then return ABSENT, name end
    local q = wait(w, needs[name], ahead and w.kind ~= 'never' and ahead[name] or nil)
    if q == NEVER then return NEVER, name end
    if q == RELEASE then
      if worst == 0 then worst, binding = RELEASE, name end
    elseif q > 0 and (worst == RELEASE or q > worst) then worst, binding = q, name end
  end
  return worst, binding
end

local function share(head, e)
  for _, name in ipairs(e.names) do if head.needs[name] then return true end end
  return false
end
local function harmless(e, head)       -- it can start as planned though e goes first
  local planned = math.max(0, head.planned)
  for _, name in ipairs(head.names) do
    local more = e.needs[name] or '0'
    local q = wait(load(name), head.needs[name], more)
    if (q < 0 and more ~= '0') or q > planned then return false end
  end
  return true
end
local function ring(e) call('PUBLISH', e.channel, e.ring) end

-- Grant what fits to those who wait, in order; return who waits for windows and not for who is before it.
-- Backfill is EASY's: one may go before those it shares windows with if they start as early as without it.
local function pump(mine, dispatched)
  local heads = {}
  if queued == 0 then return heads end
  local at, front = {}, {}
  local function look(lane) front[lane] = call('ZRANGE', POOL .. ':lane:' .. lane, at[lane], at[lane])[1] end
  for _, lane in ipairs(call('HKEYS', LANES)) do at[lane] = 0; look(lane) end
  local following, grants = FOLLOWING, GRANTS
  local function behind(e)
    local before = {}
    for _, head in ipairs(heads) do if share(head, e) then before[#before + 1] = head end end
    return before
  end
  local function visit(e, before)      -- true: it is no longer there
    local planned, binding = judge(e.names, e.needs)
    if planned == NEVER or planned == ABSENT then  -- asked for again it will be told why
      remove(e); ring(e)
      return true
    end
    local goes = planned == 0
    for _, head in ipairs(before) do goes = goes and harmless(e, head) end
    if not goes then
      if #before == 0 then e.planned, e.binding = planned, binding; heads[#heads + 1] = e end
      return false
    end
    grants = grants - 1
    remove(e, true)
    grant(e.asks, e.tag, dispatched and e.id == mine)
    if e.id ~= mine then ring(e) end
    return true
  end
  while grants > 0 do
    local best
    for lane, member in pairs(front) do if not best or member < front[best] then best = lane end end
    if not best then break end
    local e = entry(string.sub(front[best], ORDER_LENGTH + 1))
    local before = behind(e)
    if #before > 0 and following == 0 then front[best] = nil
    else
      if #before > 0 then following = following - 1 end
      if not visit(e, before) then at[best] = at[best] + 1 end
      look(best)
    end
  end
  return heads
end

local function before(e)               -- how many, and about what they need of each of its windows
  local count, needs = 0, {}
  local packed = call('HGETALL', LANES)
  for i = 1, #packed, 2 do
    local standing, shared = cmsgpack.unpack(packed[i + 1]), {}
    for _, name in ipairs(standing.names) do if e.needs[name] then shared[#shared + 1] = name end end
    if #shared > 0 then
      local ahead = call('ZLEXCOUNT', POOL .. ':lane:' .. packed[i], '-', '(' .. e.member)
      count = count + ahead
      for _, name in ipairs(shared) do needs[name] = (needs[name] or 0) + standing.sums[name] * ahead / standing.count end
    end
  end
  return count, needs
end

local function standing(e, heads)
  local position, ahead = before(e)
  local q, binding = judge(e.names, e.needs, ahead)
  if q == 0 then                       -- its own windows have room: it waits for who is before it
    q, binding = 1, e.names[1]
    for _, head in ipairs(heads) do
      if share(head, e) then q, binding = head.planned, head.binding; break end
    end
  end
  return {'waiting', q == RELEASE and '' or text(math.ceil(q)), text(position), binding, text(e.tag)}
end
